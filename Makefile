# Everything a developer runs. `make demo` and `make test` are the two commands of the README.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find aqm engine -name '*.rs' -o -name '*.h' -o -name '*.c' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: build demo test lint bench docs clean
build: .venv/built

.venv/installed: requirements.lock
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	touch $@

.venv/built: .venv/installed pyproject.toml $(SOURCES)
	$(BIN)/maturin develop --release --quiet
	touch $@
