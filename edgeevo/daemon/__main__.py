"""The daemon as a worker of somebody else (`python -m edgeevo.daemon`): one JSON line {"config": FILE, "settings": [...]} on stdin.

It ends with whoever started it; the demo and the benchmarks use this. A service is started by `edgeevo daemon`.
"""

from __future__ import annotations

from pathlib import Path

from edgeevo.config import load
from edgeevo.daemon.start import start
from edgeevo.worker import requests

if __name__ == "__main__":
    for request in requests():
        start(load(Path(request["config"]), request["settings"]))
        break
