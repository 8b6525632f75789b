# make demo    set everything up, then the main job: three real tasks, one night, a report (COMPARE=1: also without evolution)
# make test    set everything up, then lint, types, import contracts and all tests
.PHONY: help setup demo test test-full lint bench docs results factory clean
.DEFAULT_GOAL := help

# Relative on purpose: the checkout may lie at a path with spaces.
BIN := .venv/bin

help:
	@sed -n 's/^# //p' Makefile
	@echo 'also: setup, test-full (slow tests too), lint, bench (QUICK=1), docs (regenerate docs/cli.md and docs/socket-api.md), results (docs/results/demo.md), factory (the adapter in models/), clean'

setup:
	@scripts/setup

demo: setup
	@$(BIN)/edgeevo demo$(if $(COMPARE), --compare)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -m "not slow"

test-full: lint
	$(BIN)/python -m pytest

# Every claim of being fast or good, measured here and now; ends with 1 when one does not hold.
bench: setup
	$(BIN)/python benchmarks/run.py$(if $(QUICK), --quick)

docs: setup
	$(BIN)/python scripts/docs_cli.py
	$(BIN)/python scripts/docs_socket.py
	$(BIN)/python scripts/docs_pilot.py

# The demo with its comparison, kept as docs/results/demo.md.
results: setup
	$(BIN)/edgeevo demo --compare | $(BIN)/python scripts/results.py

# The factory adapter that a new box starts from, with its card, into models/. One to two hours; Ctrl-C at any time, the same command goes on.
factory: setup
	@$(BIN)/python scripts/factory.py

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
