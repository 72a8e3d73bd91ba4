# Two commands matter: `make demo` and `make test`. Each sets up .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Run once more without the compiler: kernels are plain Python then, and cannot read out of bounds.
KERNEL_TESTS := tests/arrays tests/select/test_select.py tests/select/test_select_algorithms.py \
  tests/select/test_greedy_rows.py \
  tests/provision/test_provision.py tests/provision/test_pairs.py tests/provision/test_bounds.py \
  tests/connect/test_connect.py tests/connect/test_greedy_overlays.py \
  tests/connect/test_overlay_bounds.py tests/connect/test_decentralised.py \
  tests/connect/test_structure.py tests/workload/test_generators_matching.py \
  tests/workload/test_generators_streamed_matching.py \
  tests/assign/test_greedy_assignments.py tests/assign/test_slp.py \
  tests/wire/test_wire.py tests/wire/test_wiring_algorithms.py tests/wire/test_wiring_moves.py \
  tests/wire/test_exact_wiring.py tests/wire/test_wire_bounds.py tests/workload/test_traffic.py \
  tests/wire/test_wire_explaining.py

# Two workers; a file stays with one of them, so that few kernels are compiled twice.
PYTEST := $(BIN)/python -m pytest -q --numprocesses 2 --dist loadfile --durations=15

.PHONY: setup demo test soak lint format bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fanwise needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[spark,java,dev]'
	@touch $@

demo: $(READY)
	$(BIN)/python examples/music_service.py demo-output

test: $(READY)
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(KERNEL_TESTS)

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
