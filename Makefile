# `make demo` and `make test` set up everything they need on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all lint smoke bench papers clean

demo: $(VENV)/.installed
	$(BIN)/shoal demo

test: lint
	$(BIN)/pytest -n 2 --dist loadgroup -m "not heavy"
	$(MAKE) smoke

test-all: lint
	$(BIN)/pytest -n 2 --dist loadgroup
	$(MAKE) smoke

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The oldest and the newest other Python of this machine; skips what is not there.
smoke: $(VENV)/.installed-dev
	$(BIN)/python tests/smoke.py

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

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	touch $@ $(VENV)/.installed
