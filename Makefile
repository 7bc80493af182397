# Everything works with only Python 3.11+, pip and make present: `make demo`, `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PINS    = requirements/pins.txt
WORKERS ?= 2
BACKENDS ?= numpy

.PHONY: demo test lint types clean

# NumPy only: what `pip install trellis` gives.
$(VENV)/.base: pyproject.toml $(PINS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint $(PINS) --editable .
	touch $@

# All four frameworks, at versions known to work together, and what the tests need.
$(VENV)/.all: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint $(PINS) torch==2.13.0 jax jaxlib tensorflow-cpu
	$(BIN)/python -m pip install --quiet --constraint $(PINS) --editable '.[dev]'
	touch $@

# The handwritten digits of the demo come with scikit-learn.
$(VENV)/.digits: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint $(PINS) scikit-learn
	touch $@

# `make demo BACKENDS=all` trains the same program on all four.
demo: $(VENV)/.digits $(if $(filter-out numpy,$(BACKENDS)),$(VENV)/.all)
	$(BIN)/python -m trellis.demo --backends $(BACKENDS)

test: $(VENV)/.all lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.all
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
