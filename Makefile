# Every command sets itself up: it needs nothing but make and Python 3.11 or newer, found here or named with PYTHON=.

.DELETE_ON_ERROR:
.PHONY: demo test test-frameworks check format otelcol clean

PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$python" && break; done)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
PACKAGES := otel_gate tests $(wildcard benchmarks examples)

demo: .venv/demo
	@$(BIN)/otel-gate demo

test: .venv/test
	@$(BIN)/python -m pytest --cov --cover-full

# The examples of agent frameworks, each in an environment of its own in the user's cache: as many as fit ten minutes,
# or FRAMEWORKS=all, or FRAMEWORKS="langgraph strands". CANARY=1 searches for a secret order instead.
test-frameworks: | $(BIN)/python
	@$(BIN)/python tools/frameworks.py $(if $(CANARY),--canary) $(FRAMEWORKS)

check: .venv/dev
	@$(BIN)/ruff format --check $(PACKAGES)
	@$(BIN)/ruff check $(PACKAGES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: .venv/dev
	@$(BIN)/ruff check --fix-only --quiet $(PACKAGES)
	@$(BIN)/ruff format $(PACKAGES)

otelcol:
	@.ci/otelcol

clean:
	rm -rf .venv .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find $(PACKAGES) -name __pycache__ -type d -prune -exec rm -rf {} +

# A file that says that the environment holds what the extra of that name asks for.
.venv/test .venv/dev: .venv/%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "make: installing otel-gate[$*] into .venv" >&2
	@$(INSTALL) '.[$*]'
	@touch $@

# A collector comes with the demo where one is to be had; without it the demo uses a sink of its own.
.venv/demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "make: installing otel-gate[demo] into .venv" >&2
	@$(INSTALL) '.[demo]' 2>.venv/demo.log || { echo "make: no collector for this Python; going on without" >&2; $(INSTALL) .; }
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "make: expected Python 3.11 or newer with venv and ensurepip, found none;" \
		"try: apt-get install python3 python3-venv, or make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "make: expected Python 3.11 or newer," \
		"got $$("$(PYTHON)" --version 2>/dev/null || echo "$(PYTHON)"); try: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -m venv .venv || { rm -rf .venv; echo "make: no virtual environment could be made with $(PYTHON);" \
		"try: apt-get install python3-venv, or make PYTHON=/path/to/python3" >&2; exit 1; }
