# Everything a checkout needs: git, make and python3 (3.11 to 3.13). `make demo` and `make test` set up by themselves.
PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1
export GRAPHITI_TELEMETRY_ENABLED = false

.PHONY: setup demo test check serve bench lint lock clean

setup: .venv/.ready

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

.venv/.ready: .tools/bin/uv requirements.lock pyproject.toml
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

LOCK = $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11

lock: .tools/bin/uv
	$(LOCK) --group dev pyproject.toml -o requirements.lock
	$(LOCK) -c requirements.lock pyproject.toml -o requirements-runtime.lock
	echo hatchling | $(LOCK) -c requirements.lock - -o requirements-build.lock
