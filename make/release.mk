# What is released, and the machines, clusters and interpreters that it is for.

# On the tag vVERSION; elsewhere a rehearsal. ARGS="--pythons python3.13" tries it with one interpreter.
# On Linux, x86-64, whose wheel is tried; what is for other systems is read.
.PHONY: release
release: docs $(RELEASE)/.installed $(ZIGLANG)/.installed ## dist/: sdist and wheels per system, built twice and compared, tried, with SBOM and licences
	$(VENV)/bin/python tools/release.py --programs $(RELEASE)/bin --zig $(ZIGLANG) --site build/site.tar.xz $(ARGS)

.PHONY: changelog
changelog: $(RELEASE)/.installed ## what stands in changes/ becomes the part of VERSION in CHANGELOG.md
	@[ -n "$(VERSION)" ] || { echo "which version? Try: make changelog VERSION=0.2.0"; exit 2; }
	$(RELEASE)/bin/towncrier build --yes --version $(VERSION)

# Whoever changes release.in runs it, and looks at what else changed.
.PHONY: release-pins
release-pins: $(UV)/.installed ## requirements/release.txt: what builds a release, by hash, as the index has it today
	@{ sed -n '/^#/p' requirements/release.txt; grep '^[[:alnum:]]' requirements/release.in | $(UV)/bin/uv pip compile -q --universal \
	  --python-version 3.11 --generate-hashes --no-header --no-annotate --only-binary :all: -; } > requirements/release.new
	@mv requirements/release.new requirements/release.txt

# ARGS=slim builds one of them. It needs root; Debian's buildah, iproute2, mmdebstrap and runc are
# installed by apt-get where they are missing.
.PHONY: image
image: wheel $(DIGITS)/saved_model.pb ## build/images: OCI images, slim and with ONNX; built, run and asked without Docker
	PYTHON=$(abspath $(VENV))/bin/python deploy/containers/image.sh dist/*.whl models/digits $(ARGS)

# No cluster is asked, and once it is installed nothing is fetched. KSERVE_SOURCE is a checkout of
# KServe, whose CRDs and chart no package has.
.PHONY: k8s-check
k8s-check: $(READY) $(KUBE)/.installed $(KUBERNETES)/.installed $(CHECKOV)/.installed $(DEBIAN)/.installed ## check the image's files, manifests, chart, alerts and KServe's objects, offline
	$(VENV)/bin/python tools/check_kubernetes.py --tools $(KUBERNETES)/bin --checkov $(CHECKOV)/bin \
	  --kube $(KUBE) --debian $(DEBIAN) $(if $(KSERVE_SOURCE),--kserve $(KSERVE_SOURCE))

# They need root, Debian's packages and PyPI; roots stay in build/platforms.
.PHONY: arm64
arm64: $(READY) $(ZIGLANG)/.installed ## build arm64's wheel, and run it under QEMU: import, load, run, fit, save, machine code, a server
	$(VENV)/bin/python tools/platform_wheel.py linux-aarch64 build/platforms/wheels $(ZIGLANG)
	$(VENV)/bin/python tests/platforms/run.py build/platforms/wheels/*.whl arm64

# For once a week: a quarter of an hour. 3.13 and 3.14 are Debian's; a python3.12 must be on the PATH.
# ARGS=python3.14 tries one.
.PHONY: interpreters
interpreters: wheel ## the same and the tests that the interpreter decides, on Python 3.12, 3.13 and 3.14
	$(VENV)/bin/python tests/platforms/run.py dist/*.whl $(if $(ARGS),$(ARGS),python3.12 python3.13 python3.14)
