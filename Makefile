# Everything a checkout needs: git, make and python3 (3.11 to 3.13). `make demo` and `make test` set up by themselves.
PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
export OMP_NUM_THREADS ?= 1
export GRAPHITI_TELEMETRY_ENABLED = false
# Compiling what is imported anew in every process would double the time of tests and of the demo's start.
unexport PYTHONDONTWRITEBYTECODE
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
# One process more than there are cores, up to four, for many tests wait; a single core needs no second process.
PROCESSES = $(if $(filter 1,$(CORES)),0,$(if $(filter 2,$(CORES)),3,4))
PYTEST = $(BIN)/pytest -q -n $(PROCESSES) --dist loadgroup

.PHONY: setup demo test test-servers check coverage serve bench lint lock clean

setup: .venv/.ready

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv

.venv/.ready: .tools/bin/uv requirements.lock pyproject.toml
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

demo: setup
	$(BIN)/kataribe demo $(if $(LANGUAGE),--language $(LANGUAGE)) $(ARGS)

serve: setup
	$(BIN)/kataribe serve $(ARGS)

# What needs no server: everything but the tests marked `server`.
test: setup
	$(PYTEST) -m "not server" $(ARGS)

# What CI runs beside `make test`: lint, types, layers, migrations, and the tests that need servers. `make -j2 check`
# runs the tests while types are checked.
check: lint test-servers

test-servers: setup
	$(PYTEST) -m server $(ARGS)

# All tests, traced: how much of the code they run.
coverage: setup
	rm -f .coverage
	$(PYTEST) --cov --cov-report=term:skip-covered $(ARGS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.store.check_migrations
	$(BIN)/python -m tests.statements

bench: setup
	$(BIN)/python -m benchmarks $(ONLY)

clean:
	rm -rf .venv .tools tests/clients/.venv build dist kataribe-data .coverage htmlcov tests/neo4j-server/target

# uv locks; the files name no registry, so that yours is used.
LOCK = $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --python-version 3.11

lock: .tools/bin/uv
	$(LOCK) --group dev --all-extras pyproject.toml -o requirements.lock
	$(LOCK) -c requirements.lock --all-extras pyproject.toml -o requirements-runtime.lock
	printf 'llm\nopenapi-python-client\n' | $(LOCK) - -o tests/clients/requirements.lock
	echo hatchling | $(LOCK) -c requirements.lock - -o requirements-build.lock
