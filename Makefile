# One command to see it, one to test it. Both set up .venv by themselves.
PYTHON ?= python3
BIN := .venv/bin
CORES := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# One more than there are cores: some tests wait for a server, a browser or a process.
JOBS ?= $(shell expr $(CORES) + 1)
MINUTES ?= 30
DATA ?= ../shared/data
TORCH ?= torch==2.13.0
# From pairs to selectors, without what is stored in files.
CORE := $(addprefix tests/,pairs samples graphs scores search selectors test_supervision.py test_forms.py)

.PHONY: help demo quick test test-torch lint types unit versions thorough calibration fuzz kills mutants bench docs dist clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/ready  ## choose pixels of handwritten digits from twenty pairs
	@$(BIN)/linkselect demo

# Fewer examples of each property; nothing that is marked slow.
quick: .venv/ready  ## test the core parts within a minute: pairs, samples, graphs, scores, searches, selectors
	SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(CORES) -q -m 'not slow' \
		--hypothesis-profile=quick --ignore=tests/samples/sources $(CORE)

test: lint types unit  ## lint, check types, run unit tests and doctests

# The last line is for what only pre-commit sees: the ends of lines and files, TOML, YAML, large files.
lint: .venv/ready  ## check style, spelling, language and files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(BIN)/python docs/language.py; fi
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		SKIP=ruff-check,ruff-format,mypy,codespell $(BIN)/pre-commit run --all-files; fi

types: .venv/ready  ## check types
	$(BIN)/mypy

# SCIPY_ARRAY_API must be set before SciPy is imported, or scikit-learn skips its array checks. Tests
# start hundreds of processes: each would compile the library anew if no bytecode were kept.
unit: .venv/ready  ## run unit tests and doctests
	SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(JOBS)

# Fresh environments in temporary folders, grown from the core to [cli] to [all].
versions: .venv/ready  ## run the README with the oldest and the newest dependencies
	$(BIN)/python .ci/check_versions.py

# The tests of arrays that stay on their device, which `unit` runs with array-api-strict, with torch:
# on CUDA if there is one, else on the CPU.
test-torch: .torch-venv/ready  ## test torch arrays, with an installed torch or one of its own
	SCIPY_ARRAY_API=1 .torch-venv/bin/python -m pytest -n $(JOBS) tests/samples/test_devices.py
	SCIPY_ARRAY_API=1 .torch-venv/bin/python -m pytest -n $(JOBS) tests/selectors/test_selectors.py -k array_api

# Goes on where it ended; the table goes into docs/verification.md.
thorough: .venv/ready  ## compare every selector with its definition, for MINUTES=30
	$(BIN)/python benchmarks/thorough.py --minutes $(MINUTES)

# Both go on where they ended; the counts go into docs/reliability.md.
fuzz: .venv/ready  ## feed mutated files of every format to the command line, for MINUTES=30
	$(BIN)/python benchmarks/fuzz.py --minutes $(MINUTES)

kills: .venv/ready  ## kill processes at random moments, and damage what they stored
	$(BIN)/python benchmarks/kills.py --minutes $(MINUTES)

# Goes on where it ended; the tables go into docs/calibration.md. DATA is the folder that CONTRIBUTING names.
calibration: .venv/ready  ## measure how often claims are wrong, for MINUTES=30
	$(BIN)/python benchmarks/calibration.py $(wildcard $(DATA)) --minutes $(MINUTES)

# Goes on where it ended, and tries survivors again once a test was added.
mutants: .venv/mutants  ## put faults into the code, one at a time: do the tests notice?
	$(BIN)/python benchmarks/mutants.py --minutes $(MINUTES)

# Goes on where it was stopped; for a trial: make bench BENCH="--quick --tasks relieff".
bench: .bench-venv/ready  ## measure speed and memory beside all alternatives; writes benchmarks/RESULTS.md
	.bench-venv/bin/python benchmarks/run.py $(BENCH)

# Pages of functions that have moved would be warnings, so the reference is made anew.
docs: .venv/docs  ## build the documentation into docs/_build/html
	rm -rf docs/api/generated
	rm -rf docs/_build
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python .ci/check_site.py
	@echo "Open docs/_build/html/index.html"

# An environment of its own, in a temporary folder, shows whether the wheel works without the checkout.
dist: .venv/dist  ## build sdist and wheel into dist/, and try the wheel
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py dist

clean:  ## remove the environment, caches and what was built
	rm -rf .venv .bench-venv .torch-venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "linkselect needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

# An environment of its own: the alternatives are measured against, never imported by the library.
.bench-venv/ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[fast]' -r benchmarks/requirements.txt
	@touch $@

# An environment of its own, since torch is large. One that PYTHON has already is used.
.torch-venv/ready: pyproject.toml constraints.txt
	@if $(PYTHON) -c 'import torch' 2>/dev/null; then \
		$(PYTHON) -m venv --system-site-packages .torch-venv; \
	else \
		$(PYTHON) -m venv .torch-venv && \
		.torch-venv/bin/pip install --quiet --disable-pip-version-check $(TORCH); fi
	.torch-venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

# Sphinx with its theme and gallery. Building needs no network.
.venv/docs: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# What makes mutants, and tells which test reaches which line. Not for `make test`: cosmic-ray brings
# nineteen packages along, a database and a web client among them.
.venv/mutants: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt cosmic-ray coverage
	@touch $@

# What builds and checks a release.
.venv/dist: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt build twine
	@touch $@
