# `make demo` shows the library, `make test` tests it. Both create .venv.
PYTHON ?= python3
BIN := .venv/bin
CORES := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
# One more than the number of cores, because some tests wait for a server, a browser or a process.
JOBS ?= $(shell expr $(CORES) + 1)
MINUTES ?= 30
DATA ?= ../shared/data
TORCH ?= torch==2.13.0
# Pairs to selectors, without stored data.
CORE := $(addprefix tests/,pairs samples graphs scores search selectors test_supervision.py test_forms.py)

.PHONY: help demo quick test test-torch lint types unit versions thorough calibration fuzz kills mutants bench docs dist clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/ready  ## choose pixels of handwritten digits from twenty pairs
	@$(BIN)/linkselect demo

# Draws fewer examples of each property, and skips tests marked as slow.
quick: .venv/ready  ## test the core within a minute: pairs, samples, graphs, scores, searches, selectors
	SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(CORES) -q -m 'not slow' \
		--hypothesis-profile=quick --ignore=tests/samples/sources $(CORE)

test: lint types unit  ## lint, check types, run unit tests and doctests

# The last line runs the hooks that only pre-commit has: ends of lines and files, TOML, YAML, large files.
lint: .venv/ready  ## check style, spelling, language and files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(BIN)/python docs/language.py; fi
	@if git rev-parse --git-dir >/dev/null 2>&1; then \
		SKIP=ruff-check,ruff-format,mypy,codespell $(BIN)/pre-commit run --all-files; fi

types: .venv/ready  ## check types
	$(BIN)/mypy

# scikit-learn skips its array checks unless SCIPY_ARRAY_API is set before SciPy is imported. Bytecode
# is kept because the tests start hundreds of processes.
unit: .venv/ready  ## run unit tests and doctests
	SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(JOBS)

# Creates environments in temporary folders, and extends them from the core to [cli] to [all].
versions: .venv/ready  ## run the README with the oldest and the newest dependencies
	$(BIN)/python .ci/check_versions.py

# The tests of device arrays, which `unit` runs with array-api-strict. torch uses CUDA if available, and
# otherwise the CPU.
test-torch: .torch-venv/ready  ## test torch arrays, with the installed torch or a new one
	SCIPY_ARRAY_API=1 .torch-venv/bin/python -m pytest -n $(JOBS) tests/samples/test_devices.py
	SCIPY_ARRAY_API=1 .torch-venv/bin/python -m pytest -n $(JOBS) tests/selectors/test_selectors.py -k array_api

# Resumes where it stopped, and writes its table into docs/verification.md.
thorough: .venv/ready  ## compare every selector with its definition, for MINUTES=30
	$(BIN)/python benchmarks/thorough.py --minutes $(MINUTES)

# Both resume where they stopped, and write their counts into docs/reliability.md.
fuzz: .venv/ready  ## feed mutated files of every format to the command line, for MINUTES=30
	$(BIN)/python benchmarks/fuzz.py --minutes $(MINUTES)

kills: .venv/ready  ## kill processes at random moments, and damage their files
	$(BIN)/python benchmarks/kills.py --minutes $(MINUTES)

# Resumes where it stopped, and writes its tables into docs/calibration.md. DATA is the folder of the papers' data.
calibration: .venv/ready  ## measure how often claims are wrong, for MINUTES=30
	$(BIN)/python benchmarks/calibration.py $(wildcard $(DATA)) --minutes $(MINUTES)

# Resumes where it stopped, and tries survivors again after a test was added.
mutants: .venv/mutants  ## put faults into the code, one at a time, and check that the tests fail
	$(BIN)/python benchmarks/mutants.py --minutes $(MINUTES)

# Resumes where it stopped. For a trial: make bench BENCH="--quick --tasks relieff".
bench: .bench-venv/ready  ## compare speed and memory with other libraries; writes benchmarks/RESULTS.md
	.bench-venv/bin/python benchmarks/run.py $(BENCH)

# Old pages of functions that have moved would cause warnings, so the reference is built from scratch.
docs: .venv/docs  ## build the documentation into docs/_build/html
	rm -rf docs/api/generated
	rm -rf docs/_build
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python .ci/check_site.py
	@echo "Open docs/_build/html/index.html"

# The wheel is tried in a separate temporary environment, so that it cannot use the checkout.
dist: .venv/dist  ## build the sdist and the wheel into dist/, and try the wheel
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/check_dist.py dist

clean:  ## remove environments, caches and built files
	rm -rf .venv .bench-venv .torch-venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	rm -rf docs/_build docs/auto_examples docs/api/generated docs/sg_execution_times.rst

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "linkselect needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

# A separate environment, because the library never imports the libraries that it is compared with.
.bench-venv/ready: pyproject.toml constraints.txt benchmarks/requirements.txt
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt \
		-e '.[fast]' -r benchmarks/requirements.txt
	@touch $@

# A separate environment, because torch is large. If PYTHON already has torch, that version is used.
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

# cosmic-ray makes mutants, and coverage shows which tests reach a line. Not part of `make test`, because
# cosmic-ray requires nineteen packages, including a database and a web client.
.venv/mutants: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt cosmic-ray coverage
	@touch $@

# Tools that build and check a release.
.venv/dist: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt build twine
	@touch $@
