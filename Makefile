# Everything works with only Python 3.11+, pip and make present: `make demo`, `make test`.
PYTHON   ?= python3
VENV     ?= .venv
BIN       = $(VENV)/bin
PINS      = requirements/pins.txt
WORKERS  ?= 2
BACKENDS ?= numpy
STORE     = build/board.sqlite

.PHONY: demo test lint types format board board-others bench bench-quick clean

# NumPy only: what `pip install trellis` gives.
$(VENV)/.base: pyproject.toml $(PINS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint $(PINS) --editable .
	touch $@

# All four frameworks, at versions known to work together, and what the tests need.
$(VENV)/.all: $(VENV)/.base packages/board/pyproject.toml
	$(BIN)/python -m pip install --quiet --constraint $(PINS) torch==2.13.0 jax jaxlib tensorflow-cpu
	$(BIN)/python -m pip install --quiet --constraint $(PINS) --editable 'packages/board[test]' --editable '.[dev]'
	touch $@

# The digits come with scikit-learn; other frameworks only if they are asked for.
demo: $(VENV)/.base
	$(BIN)/python -c 'import sklearn' 2>/dev/null || $(BIN)/python -m pip install --quiet --constraint $(PINS) scikit-learn
	test $(BACKENDS) = numpy || $(MAKE) $(VENV)/.all
	$(BIN)/python -m trellis.demo --backends $(BACKENDS)

test: $(VENV)/.all lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
	$(BIN)/python -m pytest -n $(WORKERS) packages/board

lint: $(VENV)/.all
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

types: $(VENV)/.all
	$(BIN)/mypy

format: $(VENV)/.all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Our own conformance board: page and tables into build/board/, and into docs/board/ what is kept in
# git: the five seed tables, how they compare, and the badges of the README.
board: $(VENV)/.all
	mkdir -p build docs/board/badges && rm -rf $(STORE)* build/board
	-$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --board $(STORE)
	$(BIN)/trellis-board configure board.toml --store $(STORE) --project trellis
	$(BIN)/trellis-board import packages/board/tests/seeds/*.txt --store $(STORE) --project seeds --at 2023-04-01
	$(BIN)/trellis-board markdown --store $(STORE) --project trellis --out build/board/tables
	$(BIN)/trellis-board html --store $(STORE) --project trellis --out build/board/page
	$(BIN)/trellis-board markdown --store $(STORE) --project trellis --like seeds --out docs/board/seeds
	cp build/board/page/badges/all.svg build/board/page/badges/backend.*.svg docs/board/badges/
	$(BIN)/trellis-board beside --store $(STORE) --project trellis --other seeds --out docs/board/beside.md --strict

# The suites of other projects, from checkouts of yours: make board-others EINOPS=... NARWHALS=...
# What their tests need must be installed; nothing is fetched.
board-others: $(VENV)/.all
	$(BIN)/python packages/board/others.py --out build/others $(if $(EINOPS),--einops $(EINOPS)) \
	  $(if $(ARRAY_API_EXTRA),--array-api-extra $(ARRAY_API_EXTRA)) $(if $(NARWHALS),--narwhals $(NARWHALS))

bench: $(VENV)/.all
	$(BIN)/python benchmarks/run.py

bench-quick: $(VENV)/.all
	$(BIN)/python benchmarks/run.py --quick

clean:
	rm -rf $(VENV) .venv-peers build dist .pytest_cache .mypy_cache .ruff_cache
