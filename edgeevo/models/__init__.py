"""Model files: cards that say what a file must be, verified files by content, and (in submodules) weights and adapters.

Importing this package loads no model library: the service may verify and fetch. `weights`, `requantise` and `adapter_file` need numpy
and gguf and are for children only.
"""

from edgeevo.models.cards import Card, LocalFile, MadeFrom, PackageFile, fetch, load_card, locate, sha256_of, verify_file

__all__ = ["Card", "LocalFile", "MadeFrom", "PackageFile", "fetch", "load_card", "locate", "sha256_of", "verify_file"]
