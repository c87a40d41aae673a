# Measurements. What is measured as whole processes is what people install, not a checkout that is edited.

bench bench-serving bench-memory bench-onnx: export PINNACE_WHEEL_PYTHON = $(abspath build/installed)/bin/python
bench bench-zoo bench-special bench-gate profile-demo: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
bench: export PINNACE_JAX_PYTHON = $(abspath $(JAX))/bin/python

# The plots of docs/how_fast.md are those of the tables, missed aims or not.
PLOTS = $(VENV)/bin/python tools/plots.py --write

.PHONY: installed-wheel
installed-wheel: wheel
	@rm -rf build/installed && $(PYTHON) -m venv --without-pip build/installed
	@$(VENV)/bin/python -m pip --python build/installed/bin/python install --quiet \
	  --disable-pip-version-check --no-deps dist/*.whl
	@# Its dependencies are those of the checkout, whose own .pth file is not read from there.
	@$(VENV)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$(build/installed/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/dependencies.pth

# About 40 minutes; a machine that does nothing else.
.PHONY: bench
bench: installed-wheel $(TENSORFLOW)/.installed $(JAX)/.installed ## time against TensorFlow, ONNX Runtime, jax; writes benchmarks/RESULTS.md
	status=0; $(VENV)/bin/python benchmarks/run.py --markdown benchmarks/RESULTS.md $(ARGS) || status=$$?; \
	  $(PLOTS) && exit $$status

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

.PHONY: bench-short
bench-short: $(READY) ## run benchmarks once, without peers: none has rotted
	$(VENV)/bin/python benchmarks/run.py --short $(ARGS)
	$(VENV)/bin/python benchmarks/zoo/run.py --short
	$(VENV)/bin/python benchmarks/producers/run.py --short
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

# About 25 minutes; the first time the models are written, 10 more. ARGS=--short is one round of a few, of which no table
# is written; ARGS="--only words" the rows of a kind.
.PHONY: bench-producers
bench-producers: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
bench-producers: export PINNACE_JAX_PACKAGES = $(abspath $(JAX_EXPORTS))
bench-producers: export PINNACE_FORESTS_PACKAGES = $(abspath $(FORESTS))
bench-producers: export PINNACE_TRANSFORMERS_PACKAGES = $(abspath $(TRANSFORMERS)):$(abspath $(KERAS2))
bench-producers: $(READY) $(TENSORFLOW)/.installed $(JAX_EXPORTS)/.installed $(FORESTS)/.installed $(TRANSFORMERS)/.installed ## time models of JAX, ydf and transformers beside their libraries; writes benchmarks/PRODUCERS.md
	$(VENV)/bin/python benchmarks/producers/run.py --markdown benchmarks/PRODUCERS.md $(ARGS)

.PHONY: bench-onnx-short
bench-onnx-short: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
bench-onnx-short: $(READY) $(TENSORFLOW)/.installed ## export two models of TensorFlow once, without peers
	$(VENV)/bin/python benchmarks/exporters.py --short $(ARGS)

# About 15 minutes; ARGS="--only keras_ MobileNet" are models whose names begin so, of which no table is written.
.PHONY: lite
lite: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python
lite: $(READY) $(TENSORFLOW)/.installed $(DIGITS)/saved_model.pb ## .tflite files beside those of TFLiteConverter, run by TensorFlow's interpreter; writes benchmarks/LITE.md
	$(VENV)/bin/python benchmarks/lite/compare.py --out benchmarks/LITE.md $(ARGS)

# Two minutes; ARGS="--rows 100000" is a short form.
.PHONY: score-demo
score-demo: $(READY) ## score a million rows of Parquet, killed and resumed, beside a plain loop
	$(VENV)/bin/python benchmarks/score_demo.py $(ARGS)

# Half a minute; the first time TensorFlow writes the model, one more. ARGS="--to FOLDER" writes elsewhere.
.PHONY: profile-demo
profile-demo: $(READY) $(TENSORFLOW)/.installed ## profile MobileNetV2: its table, and traces for Chrome's viewer and TensorBoard
	$(VENV)/bin/python benchmarks/profile_demo.py $(ARGS)
