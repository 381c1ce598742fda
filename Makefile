# Everything sets itself up: Python 3.11, make and the package index are enough.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
DOCS := .venvs/docs
EXPORTS := .venvs/exports

.PHONY: help setup loops-env exports-env test test-slow check lint demo docs clean

help:  ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# The stamp is older than what it was made from -> install again; pip skips what is there.
$(VENV)/.ready: pyproject.toml constraints.txt Makefile
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[torch,examples]' \
		pytest hypothesis ruff mypy import-linter
	@touch $@

setup: $(VENV)/.ready  ## make .venv with pitstop, its tests' needs and the demo's

LOOPS := .venvs/loops
$(LOOPS)/.ready: tests/loops/requirements.txt constraints.txt
	$(PYTHON) -m venv $(LOOPS)
	$(LOOPS)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -r tests/loops/requirements.txt -e .
	@touch $@

loops-env: $(LOOPS)/.ready  ## an interpreter with Hugging Face, Lightning, Ignite, Gymnasium and Hydra, for slow tests

$(EXPORTS)/.ready: pyproject.toml Makefile
	$(PYTHON) -m venv $(EXPORTS)
	$(EXPORTS)/bin/python -m pip install -q --disable-pip-version-check -e '.[mlflow,tensorboard]' tensorboard sqlalchemy alembic
	@touch $@

exports-env: $(EXPORTS)/.ready  ## an interpreter with what `pitstop export` writes with, and its readers, for slow tests

test: setup  ## the test suite (under 10 minutes on 2 cores)
	$(BIN)/python -m pytest -m "not slow and not gpu"

test-slow: setup loops-env exports-env  ## minutes-long end-to-end tests
	$(BIN)/python -m pytest -m "slow and not gpu"

check: lint test  ## lint, types, imports, tests

lint: setup  ## ruff, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: setup  ## photographs, an ordinary training script, and the patch that makes it faster
	$(BIN)/python examples/photos/make_photos.py
	cd examples/photos && ../../$(BIN)/pitstop tune --budget 6m -- ../../$(BIN)/python train.py

$(DOCS)/.ready: pyproject.toml constraints.txt docs/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e . -r docs/requirements.txt
	@touch $@

docs: $(DOCS)/.ready  ## the documentation as a site, in site/; fails where a rule or treatment has no page
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict
	@echo "site/index.html (search needs a server: $(DOCS)/bin/mkdocs serve)"

clean:  ## remove what the targets made
	rm -rf $(VENV) $(DOCS) site docs/reference .pytest_cache .mypy_cache .ruff_cache build dist
