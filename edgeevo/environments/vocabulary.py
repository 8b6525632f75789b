"""The whole vocabulary: importing this module registers every entry. A new file of entries is one more import here."""

from __future__ import annotations

from edgeevo.environments import (  # noqa: F401 - importing a file registers its entries
    vocabulary_access,
    vocabulary_accounts,
    vocabulary_archives,
    vocabulary_arithmetic,
    vocabulary_columns,
    vocabulary_comparing,
    vocabulary_compressed,
    vocabulary_config,
    vocabulary_dates,
    vocabulary_delimited,
    vocabulary_documents,
    vocabulary_each,
    vocabulary_edits,
    vocabulary_endings,
    vocabulary_facts,
    vocabulary_figures,
    vocabulary_files,
    vocabulary_find,
    vocabulary_found,
    vocabulary_json,
    vocabulary_lines,
    vocabulary_listing,
    vocabulary_logs,
    vocabulary_match,
    vocabulary_numbers,
    vocabulary_parts,
    vocabulary_removal,
    vocabulary_rewriting,
    vocabulary_rights,
    vocabulary_search,
    vocabulary_sections,
    vocabulary_sqlite,
    vocabulary_strings,
    vocabulary_tables,
    vocabulary_text,
    vocabulary_trees,
    vocabulary_values,
    vocabulary_zipped,
)
from edgeevo.environments.skills import ENTRIES

__all__ = ["ENTRIES"]
