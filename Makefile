# Every target works alone on a fresh clone: it first makes what it needs.
#
#   make PYTHON=python3.12 demo     another interpreter (3.11 or newer)
#   make test ARGS="-k dense -x"    more arguments for pytest
#   make bench ARGS="--only eager_add"

PYTHON ?= python3
VENV ?= .venv
CACHE ?= .cache
JOBS ?= 2
ARGS ?=
ONCE ?=
ORACLE_EXAMPLES ?=
ORACLE_SEED ?= 1
INTEROP_PATHS ?= v2,v1,c,lite,resave
EXTRAS := onnx,lite,grpc,image,score,dev
LINKS := build/links
DIGITS := models/digits/1

# Tests and the demo start fresh processes; without bytecode each of them compiles the library again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

include make/environments.mk

.PHONY: help
help: ## show the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## make .venv: pinnace, editable, with the tools, and its machine code

.PHONY: hooks
hooks: $(INSTALLED) ## have git run the checks of .pre-commit-config.yaml
	$(VENV)/bin/pre-commit install --hook-type pre-commit --hook-type commit-msg

.PHONY: links
links: ## build/links/pinnace: the sources under their import names
	@rm -rf $(LINKS) && mkdir -p $(LINKS)/pinnace
	@for path in core/*; do \
	  case $$path in */__pycache__) ;; *) ln -s ../../../$$path $(LINKS)/pinnace/ ;; esac; done
	@for folder in proto saved_model serving deploy; do ln -s ../../../$$folder $(LINKS)/pinnace/; done

## the main job

.PHONY: demo
demo: $(DEMO)/.installed $(KERNELS) ## train, save, export and serve a digit classifier; ONCE=1 stops after it
	$(DEMO)/bin/python examples/digits_demo.py $(if $(filter-out 0,$(ONCE)),--once) $(ARGS)

# ARGS are for the target that needs it.
$(DIGITS)/saved_model.pb:
	$(MAKE) demo ONCE=1 ARGS=

.PHONY: examples
examples: $(READY) ## run every program of examples/; ARGS=--short does less of each
	$(VENV)/bin/python examples/all_examples.py $(ARGS)

## what a commit must pass, and its documents

.PHONY: check
check: lint types test ## lint, types, test

.PHONY: fmt
fmt: $(INSTALLED) ## format, and mend what ruff can mend
	$(VENV)/bin/ruff check --fix --quiet . ; $(VENV)/bin/ruff format .

.PHONY: lint
lint: $(INSTALLED) ## ruff: rules and format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

.PHONY: types
types: links $(INSTALLED) ## mypy --strict over the library and tests/support
	$(VENV)/bin/mypy

# Two workers share two cores: one BLAS thread each.
test deep: export OMP_NUM_THREADS = 1
test deep: export PINNACE_PROTOC_PYTHON = $(abspath $(PROTOC))/bin/python

.PHONY: test
test: $(READY) $(PROTOC)/.installed ## the fast tests, in parallel
	$(VENV)/bin/pytest -n $(JOBS) -q $(ARGS)

# Circles, layers, names of ops: each reads the whole tree, which takes more than two seconds.
.PHONY: architecture
architecture: $(READY) ## the rules of the tree that `make test` leaves out because they are slow
	$(VENV)/bin/pytest -n $(JOBS) -q -m slow tests/architecture $(ARGS)

# ARGS="--since main" takes what a branch changed, ARGS=--list says which tests these are.
.PHONY: quick
quick: links $(READY) ## lint, types and tests of what changed, nearest first, within 90 s
	@$(VENV)/bin/python tools/quick.py $(ARGS)

.PHONY: slow
slow: $(READY) $(PROTOC)/.installed ## the tests that take more than two seconds, in parallel
	$(VENV)/bin/pytest -n $(JOBS) -q -m slow $(ARGS)

.PHONY: durations
durations: $(READY) $(PROTOC)/.installed ## run fast and slow tests, and write tests/slow.txt: which are slow
	PINNACE_RECORD_DURATIONS=1 $(VENV)/bin/pytest -n $(JOBS) -q $(ARGS)
	PINNACE_RECORD_DURATIONS=1 $(VENV)/bin/pytest -n $(JOBS) -q -m slow $(ARGS)

.PHONY: pages
pages: $(READY) ## build/docs: tables of all names, ops, ops in ONNX and flags, from the code
	$(VENV)/bin/python tools/pages.py $(ARGS)

.PHONY: docs
docs: $(READY) $(DOCS)/.installed ## build/site: the documentation, with tables and all names; a broken link fails
	$(VENV)/bin/python tools/documentation.py --programs $(DOCS)/bin

.PHONY: wheel
wheel: $(READY) ## dist/*.whl
	@rm -rf build/lib build/bdist.* dist
	PINNACE_BUILD_KERNELS=0 $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

## the rest, by subject

include make/checks.mk
include make/peers.mk
include make/benchmarks.mk
include make/release.mk

.PHONY: clean
clean: ## remove what was built (not .venv, .cache and models)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache/mypy
	find . -name __pycache__ -not -path './.venv/*' -not -path './.cache/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## remove the environments too
	rm -rf $(VENV) $(CACHE)
