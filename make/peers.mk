# What others wrote: TensorFlow and what is built on it, clients, runtimes, engines.

oracle interop packages clients: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python

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
	PYTHONPATH=$(TEXT) $(TENSORFLOW)/bin/python tests/golden/text/make_pieces.py
	PYTHONPATH=$(TEXT) $(TENSORFLOW)/bin/python tests/golden/text/make_language.py

.PHONY: interop
interop: export PINNACE_KERAS2 = $(abspath $(KERAS2))
interop: $(READY) $(TENSORFLOW)/.installed $(KERAS2)/.installed $(DIGITS)/saved_model.pb ## TensorFlow's models here, ours there
	@# The corpus of version 2 keeps one core busy for a minute or two: beside the others, and told after them.
	@mkdir -p build; status=0; \
	$(VENV)/bin/python tests/interop/version2/corpus.py >build/interop-version2.txt 2>&1 & beside=$$!; \
	trap "kill $$beside 2>/dev/null" INT TERM; \
	$(VENV)/bin/python tests/interop/corpus.py --paths $(INTEROP_PATHS) || status=1; \
	$(TENSORFLOW)/bin/python tests/tools/tf_check.py $(DIGITS) --paths $(INTEROP_PATHS) || status=1; \
	PINNACE_TF_PATHS=$(INTEROP_PATHS) $(VENV)/bin/pytest -q -m interop tests/interop $(ARGS) || status=1; \
	wait $$beside || status=1; cat build/interop-version2.txt; exit $$status

.PHONY: companions
companions: export PINNACE_COMPANIONS = $(abspath $(COMPANIONS))
companions: $(INSTALLED) $(COMPANIONS)/.installed ## KerasTuner, Optuna, scikit-learn, LIME, SHAP and MLflow with pinnace
	$(VENV)/bin/pytest -q -m companions tests/companions $(ARGS)

.PHONY: packages
packages: export PINNACE_PACKAGES = $(abspath $(PACKAGES))
packages: $(READY) $(TENSORFLOW)/.installed $(PACKAGES)/.installed ## packages that others wrote for TensorFlow, with pinnace
	$(VENV)/bin/pytest -q -m packages tests/packages $(ARGS)

# Models of JAX, of Keras on it, of transformers and of ydf are written once.
CORPORA := $(FORESTS) $(JAX_EXPORTS) $(TRANSFORMERS)
$(FORESTS)/corpus/.written: tests/producers/write_forests.py
$(JAX_EXPORTS)/corpus/.written: tests/producers/write_jax.py
$(TRANSFORMERS)/corpus/.written: tests/producers/write_transformers.py $(wildcard tests/producers/hugging_face/*.py)
$(TRANSFORMERS)/corpus/.written: private theirs := :$(KERAS2)
$(CORPORA:%=%/corpus/.written): %/corpus/.written: %/.installed
	@rm -rf $*/corpus
	PYTHONPATH=$*$(theirs) $(TENSORFLOW)/bin/python $(filter tests/producers/write_%.py,$^) $*/corpus
	@touch $@

# Three minutes; the first time the models are written, six more.
.PHONY: producers
producers: export PINNACE_FORESTS = $(abspath $(FORESTS))/corpus
producers: export PINNACE_JAX = $(abspath $(JAX_EXPORTS))/corpus
producers: export PINNACE_TRANSFORMERS = $(abspath $(TRANSFORMERS))/corpus
producers: $(READY) $(FORESTS)/corpus/.written $(JAX_EXPORTS)/corpus/.written $(TRANSFORMERS)/corpus/.written ## models of ydf, JAX, Keras on JAX and transformers: loaded, saved again, exported
	$(VENV)/bin/pytest -n $(JOBS) -q -m producers tests/producers $(ARGS)

.PHONY: clients
clients: export PINNACE_TRITON_PYTHON = $(abspath $(TRITON))/bin/python
clients: export PINNACE_KSERVE_PYTHON = $(abspath $(KSERVE))/bin/python
clients: export PINNACE_SERVING_API = $(abspath $(SERVING_API))
clients: export PINNACE_SCHEMATHESIS = $(abspath $(SCHEMATHESIS))/bin/schemathesis
clients: $(READY) $(TRITON)/.installed $(KSERVE)/.installed $(SERVING_API)/.installed $(SCHEMATHESIS)/.installed ## let clients that others wrote ask our server
	$(VENV)/bin/pytest -q -m clients tests/clients $(ARGS)

# Also by what captures them.
TF2ONNX_CASES := $(CACHE)/tf2onnx-cases-$(call sum,$(call pins,tf2onnx-source tf2onnx-tests tensorflow keras2) \
  $(shell cd tests/peers/captures && cat cases.py writing.py functions.py layers.py | cksum))

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
# EDGE_SEED=N draws the cases of the ops for TensorFlow.js as before, EDGE_EXAMPLES=N more of each.
.PHONY: edge
edge: export PINNACE_EDGE_MODULES = $(abspath $(EDGE))/node_modules
edge: export PINNACE_MEDIAPIPE_PYTHON = $(abspath $(MEDIAPIPE))/bin/python
edge: $(READY) $(EDGE)/.installed $(MEDIAPIPE)/.installed $(DIGITS)/saved_model.pb ## run exported models in Python, Node, WebAssembly and Chromium
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
