# One command to see it, one to test it. Both set up .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= auto
MINUTES ?= 30

.PHONY: help demo test lint types unit thorough fuzz kills bench docs dist clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/ready  ## rank features of a real data set from ten pairs
	@$(BIN)/linkselect demo

test: lint types unit  ## lint, check types, run unit tests and doctests

# The last line is for what only pre-commit sees: the ends of lines and files, TOML, YAML, large files.
lint: .venv/ready  ## check style, spelling and files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		SKIP=ruff-check,ruff-format,mypy,codespell $(BIN)/pre-commit run --all-files; fi

types: .venv/ready  ## check types
	$(BIN)/mypy

# SCIPY_ARRAY_API must be set before SciPy is imported, or scikit-learn skips its array checks.
unit: .venv/ready  ## run unit tests and doctests
	SCIPY_ARRAY_API=1 $(BIN)/pytest -n $(JOBS)

# Goes on where it ended; the table goes into docs/verification.md.
thorough: .venv/ready  ## compare every selector with its definition, for MINUTES=30
	$(BIN)/python benchmarks/thorough.py --minutes $(MINUTES)

# Both go on where they ended; the counts go into docs/reliability.md.
fuzz: .venv/ready  ## feed mutated files of every format to the command line, for MINUTES=30
	$(BIN)/python benchmarks/fuzz.py --minutes $(MINUTES)

kills: .venv/ready  ## kill processes at random moments, and damage what they stored
	$(BIN)/python benchmarks/kills.py --minutes $(MINUTES)

bench: .venv/bench  ## measure speed and memory beside the plain way
	$(BIN)/python benchmarks/run.py

# Pages of functions that have moved would be warnings, so the reference is made anew.
docs: .venv/docs  ## build the documentation into docs/_build/html
	rm -rf docs/api/generated
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# An environment of its own, in a temporary folder, shows whether the wheel works without the checkout.
dist: .venv/dist  ## build sdist and wheel into dist/, and try the wheel
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py dist

clean:  ## remove the environment, caches and what was built
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "linkselect needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

# The peers of the benchmarks. They are measured against, never imported by the library.
.venv/bench: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fast]' \
		skfeature-chappers fast-select skrebate mrmr_selection
	@touch $@

# Sphinx with its theme and gallery. Building needs no network.
.venv/docs: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# What builds and checks a release.
.venv/dist: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt build twine
	@touch $@
