"""Puts the real parts together: `edgeevo daemon` calls `start`."""

from __future__ import annotations

import os

from edgeevo.config import Loaded
from edgeevo.daemon.brain import ModelBrain
from edgeevo.daemon.service import serve
from edgeevo.host import LinuxHost


def start(loaded: Loaded) -> None:
    """Serve until asked to stop, on this machine, with the configured model; systemd is told when it started us."""
    serve(loaded, LinuxHost(), ModelBrain(loaded), notify_address=os.environ.pop("NOTIFY_SOCKET", ""))
