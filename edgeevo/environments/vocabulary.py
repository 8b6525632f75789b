"""The whole vocabulary: importing this module registers every entry. A new file of entries is one more import here."""

from __future__ import annotations

from edgeevo.environments import vocabulary_find, vocabulary_text
from edgeevo.environments.skills import ENTRIES

FILES = (vocabulary_find, vocabulary_text)

__all__ = ["ENTRIES", "FILES"]
