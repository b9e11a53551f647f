# Everything runs in .venv, which is made on first use; nothing has to be activated.
#
#   make repro   reproduce the experiments of params.yaml (dvc repro, with a run on each processor)
#   make test    run the tests;  make test PYTEST_ARGS="tests/config -x" runs some of them
#   make lint    linter, formatter and type checker
#   make ui      look at the runs in MLflow, on http://127.0.0.1:5000;  make ui PORT=5001 elsewhere
#
# Another Python than python3: make test PYTHON=python3.12
# Tests run in as many processes as there are cores: make test WORKERS=0 for one that can be debugged

PYTHON ?= python3
PYTEST_ARGS ?=
WORKERS ?= auto
PORT ?= 5000

BIN := .venv/bin
STAMP := .venv/.installed

# Stages of the pipeline find the environment's commands; no tool reports its use to its makers.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export DVC_NO_ANALYTICS := true
export DO_NOT_TRACK := true
export ITERATIVE_DO_NOT_TRACK := true
export MLFLOW_DISABLE_TELEMETRY := true

.DEFAULT_GOAL := help
.PHONY: help install repro test lint ui

help:
	@sed -n 's/^#   //p' Makefile

install: $(STAMP)

# The stamp is the last thing written, so that an install that was cut short is taken up again. An
# environment that is there already is kept, one made by uv (which leaves pip out) included.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" > /dev/null || test -x $(BIN)/python || \
	    { echo "No $(PYTHON) here; name a Python 3.11, 3.12 or 3.13: make PYTHON=python3.12 ..." >&2; exit 1; }
	@python="$(PYTHON)"; if test -x $(BIN)/python; then python=$(BIN)/python; fi; \
	    "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || \
	    { echo "Python 3.11, 3.12 or 3.13 is wanted, but $$python is $$("$$python" -V 2>&1);" \
	           "name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip --version > /dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade
	$(BIN)/python -m pip install --quiet -c constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e . --group dev
	@touch $@

repro: $(STAMP)
	$(BIN)/gossipgan repro

test: $(STAMP)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One worker: one person looks at it, and more would only take memory.
ui: $(STAMP)
	$(BIN)/mlflow server --host 127.0.0.1 --port $(PORT) --workers 1 \
	    --backend-store-uri "sqlite:///$(CURDIR)/mlflow.db"
