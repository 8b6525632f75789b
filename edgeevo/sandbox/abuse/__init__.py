"""Hostile commands that ship with edgeevo, and the questions that are asked after each: `edgeevo doctor --full` runs them on this machine.

    with Host() as host, open_sandbox() as sandbox:
        findings = [attacker.attack(case) for attacker in [Attacker(sandbox, host)] for case in CASES]

A case that is not contained is an *escape*: its own wall did not hold, or one of the questions has the wrong answer (back in time,
nothing running, no mount, host unchanged, next episode clean). Whoever writes another Sandbox can run them, too.
"""

from __future__ import annotations

from edgeevo.sandbox.abuse.case import ABUSE_LIMITS, ABUSE_STATE, Case
from edgeevo.sandbox.abuse.escaping import ESCAPING
from edgeevo.sandbox.abuse.exhausting import EXHAUSTING
from edgeevo.sandbox.abuse.fooling import FOOLING
from edgeevo.sandbox.abuse.trees import TREES
from edgeevo.sandbox.abuse.trial import Attacker, Finding, Host

__all__ = ["ABUSE_LIMITS", "ABUSE_STATE", "CASES", "Attacker", "Case", "Finding", "Host"]

CASES: tuple[Case, ...] = (*EXHAUSTING, *ESCAPING, *TREES, *FOOLING)
