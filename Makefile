# Every target sets up what it needs in .venv and skips what is already there.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PYTEST_ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start dozens of processes, each of which would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Two pip processes must not write to one environment.
.NOTPARALLEL:
.DELETE_ON_ERROR:

# An environment breaks when its folder moves or its interpreter goes away: the stamp holds the
# folder in which it was made, and a stamp that no longer holds is removed.
USABLE := [ "$$(cat $(VENV)/.made 2>/dev/null)" = "$(CURDIR)" ] && $(PY) -c ''
STALE := $(shell { $(USABLE); } >/dev/null 2>&1 || rm -f $(VENV)/.made)

.PHONY: help
help:  ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

.PHONY: demo
demo: $(VENV)/.has-report  ## Measure the paper's table again, and write a report
	$(PY) -m polyceptron reproduce --quick --overwrite --out polyceptron-demo

.PHONY: test
test: $(VENV)/.has-test  ## Run the whole test suite, doctests included
	$(PY) -m pytest -n auto --maxprocesses 8 --dist worksteal $(PYTEST_ARGS)

.PHONY: check
check: $(VENV)/.has-dev  ## Check format, lint, types and import layers
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	@$(PY) .ci/audit

.PHONY: audit
audit: $(VENV)/.has-dev  ## Look for advisories of what is installed, if a database can be reached
	@$(PY) .ci/audit

.PHONY: bench
bench: $(VENV)/.has-bench  ## Measure the speed ratios
	$(PY) -m benchmarks

.PHONY: figures
figures: $(VENV)/.has-bench  ## Measure the figures of README and docs again, under an hour; resumable
	$(PY) -m benchmarks.figures $(FIGURES)

.PHONY: schema
schema: $(VENV)/.has-test  ## Write the schema of model files to docs/model.schema.json
	$(PY) -c "from polyceptron.model_file import _json, schema; print(_json.layout(schema()))" \
	  > docs/model.schema.json

.PHONY: format
format: $(VENV)/.has-dev  ## Format the code and fix what lint can fix
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

.PHONY: clean
clean:  ## Remove the environment, caches and builds
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The stamps. Each is written last, so an interrupted step is done again.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "polyceptron needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making the environment $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@

# The package is installed in place: a change of the source needs no new install.
$(VENV)/.has-%: pyproject.toml $(VENV)/.made
	@echo "Installing polyceptron[$*]"
	@$(PY) -m pip install --quiet --editable ".[$*]"
	@touch $@
.PRECIOUS: $(VENV)/.has-%
