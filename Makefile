# Two commands matter: `make demo` and `make test`. Each sets up .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Four workers on two cores: many tests wait. tests/conftest.py says which tests stay together, and
# in which order they come.
PYTEST := $(BIN)/python -m pytest -q --numprocesses 4 --dist loadfile --no-loadscope-reorder \
  --durations=40

.PHONY: setup demo test soak lint format bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fanwise needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[spark,java,serve,brokers,dev]'
	@touch $@

demo: $(READY)
	$(BIN)/python examples/music_service.py demo-output

# Kernels once more without the compiler: plain Python then, they cannot read out of bounds.
test: $(READY)
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'kernels and not soak'

soak: $(READY)
	$(BIN)/python -m pytest -q -m soak

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf demo-output .pytest_cache .mypy_cache .ruff_cache
