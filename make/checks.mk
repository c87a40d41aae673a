# Checks beyond those of every commit: more examples, damage, load, graphs drawn at random.

.PHONY: typed
typed: export PINNACE_PYRIGHT = $(abspath $(PYRIGHT))/node_modules/.bin/pyright
typed: links $(READY) $(PYRIGHT)/.installed ## mypy --strict and pyright over the README's and the guide's programs
	$(VENV)/bin/pytest -q -m typed tests/typed $(ARGS)

# ARGS="-k class_weight" runs some; ARGS="-k c03" one.
.PHONY: reports
reports: $(READY) ## programs after public reports of users, each in a process of its own
	$(VENV)/bin/pytest -q -m reports tests/reports $(ARGS)

# What old releases say of newer ones is theirs: their warnings are no errors.
.PHONY: lowest
lowest: $(LOWEST)/.installed ## the fast tests with the lowest versions that pyproject.toml allows
	@$(MAKE) test VENV=$(LOWEST) ARGS="-W default::DeprecationWarning $(ARGS)"

.PHONY: deep
deep: $(READY) $(PROTOC)/.installed ## all tests but those with TensorFlow, 500 examples each
	$(VENV)/bin/pytest -n $(JOBS) -q -m "not oracle and not interop" --hypothesis-profile=deep $(ARGS)

crash: export PINNACE_TF_PYTHON = $(abspath $(TENSORFLOW))/bin/python

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

## graphs and networks, in every way to run them

# Also by what writes them.
ARCHITECTURES := $(CACHE)/architectures-$(call sum,$(call pins,vision keras2 tensorflow) $(shell cat tests/hot/architectures.py tests/hot/float64.py | cksum))

$(ARCHITECTURES)/.written: $(VISION)/.installed
	@echo "$(ARCHITECTURES): TensorFlow writes 26 vision architectures (about 2 GB; ten minutes)"
	@PYTHONPATH=$(VISION):$(KERAS2) $(TENSORFLOW)/bin/python tests/hot/architectures.py $(ARCHITECTURES)
	@touch $@

# ARGS="--seed 7 --only 1234" repeats one graph, and shows the smallest that
# differs as it does.
.PHONY: hot
hot: $(READY) ## run 100,000 drawn graphs in every way, eager to compiled: none differs; hot-networks
	cd tests && OMP_NUM_THREADS=1 $(abspath $(VENV))/bin/python -m hot.run --graphs 100000 --workers $(JOBS) $(ARGS)
	@$(MAKE) hot-networks ARGS=

# ARGS="FasterViT0 --calls 12" takes some of them.
.PHONY: hot-networks
hot-networks: $(READY) $(ARCHITECTURES)/.written ## 26 architectures beside TensorFlow, many calls each
	cd tests && $(abspath $(VENV))/bin/python -m hot.networks $(abspath $(ARCHITECTURES)) $(ARGS)

.PHONY: hot-networks-short
hot-networks-short: $(READY) $(VISION)/.installed ## the same with three of them, 20 calls each
	@PYTHONPATH=$(VISION):$(KERAS2) $(TENSORFLOW)/bin/python tests/hot/architectures.py $(ARCHITECTURES) EfficientFormerL1 FasterViT0 LCNet050
	cd tests && $(abspath $(VENV))/bin/python -m hot.networks $(abspath $(ARCHITECTURES)) --calls 20 EfficientFormerL1 FasterViT0 LCNet050

.PHONY: hot-short
hot-short: $(READY) ## the same with 1200
	cd tests && OMP_NUM_THREADS=1 $(abspath $(VENV))/bin/python -m hot.run --graphs 1200 --workers $(JOBS) $(ARGS)
