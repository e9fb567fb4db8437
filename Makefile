# `make demo` and `make test` set up everything they need on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo studio wheel test test-all system lint smoke fuzz bench papers clean

demo: $(VENV)/.installed
	$(BIN)/shoal demo

# The whole job in a browser, on the demo's table.
studio: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "shoal[studio,report]"
	@[ -f shoal-demo/people.csv ] || $(BIN)/shoal demo --quiet
	$(BIN)/shoal studio shoal-demo/people.csv

# A wheel with compiled kernels in it, for these levels of processors; others compile as before.
LEVELS ?= x86-64-v3,x86-64-v2
wheel: $(VENV)/.installed-dev
	rm -rf src/shoal/kernels/_compiled
	$(BIN)/python -m shoal.warm --ship $(LEVELS)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

test: lint system
	$(BIN)/pytest -n 2 --dist loadgroup -m "not heavy"
	$(MAKE) smoke

test-all: lint system
	SHOAL_NEW_EXAMPLES=1 $(BIN)/pytest -n 2 --dist loadgroup
	$(MAKE) smoke

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What tests need of the system: a browser, the text of a PDF, a database server, Java. Elsewhere than
# as root with apt-get, those skip.
system:
	@{ command -v chromium && command -v pdftotext && command -v java && \
	  ls /usr/lib/postgresql/*/bin/initdb; } \
	  >/dev/null 2>&1 || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0; \
	  apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends chromium poppler-utils postgresql \
	    >/dev/null && { command -v java || \
	    apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless || \
	    apt-get install -y -qq --no-install-recommends default-jre-headless; } >/dev/null; }

# The oldest and the newest other Python of this machine; skips what is not there.
smoke: $(VENV)/.installed-dev
	$(BIN)/python tests/smoke.py

# Random tables and damaged files, each for SECONDS; a failing case says how to replay it.
SECONDS ?= 600
fuzz: $(VENV)/.installed-dev
	SHOAL_FUZZ_SECONDS=$(SECONDS) $(BIN)/pytest -s tests/test_fuzz_tables.py tests/test_fuzz_files.py \
	  tests/test_fuzz_ways.py

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

papers: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.papers $(PAPERS)

clean:
	rm -rf $(VENV) .venv-smoke-* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# A wheel of `make wheel` has its kernels compiled; one for another Python is passed over.
$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet dist/shoal-*.whl 2>/dev/null || $(BIN)/python -m pip install --quiet -e .
	$(BIN)/python -m pip install --quiet "shoal[studio]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@ $(VENV)/.installed
