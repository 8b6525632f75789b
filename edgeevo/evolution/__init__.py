"""Environments that grow: operators, two gated loops, measured verifiers, lineages."""
