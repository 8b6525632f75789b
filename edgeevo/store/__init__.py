"""The store: one SQLite database. `writer` belongs to the daemon alone, `reader` and `figures` open it read-only and may be used by anybody."""
