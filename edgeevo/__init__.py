"""edgeevo: a small local agent that does terminal tasks offline and gets better overnight, on the box itself."""

__version__ = "0.1.0"
