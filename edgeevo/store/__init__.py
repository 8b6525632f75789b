"""The store: one SQLite database. `writer` belongs to the daemon alone, `reader` and `figures` are read-only and for everybody."""
