# `make help` lists the targets. Everything runs inside .venv, made by `make setup`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

# Memories of the emulator are large, and tests touch little of them: whole huge pages would be cleared for that.
export NUMPY_MADVISE_HUGEPAGE := 0

.PHONY: help setup versions demo train-demo test test-all check fmt lint types types-and-lit lit unit unit-all onnx-ci onnx-suite docs bench fuzz release clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## make .venv with every tool; does nothing when up to date

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: setup ## train, export, compile, emulate and compare a digits classifier
	@$(BIN)/mnc demo

train-demo: setup ## train a digits classifier for 3 epochs on the emulator and draw the curve
	@$(BIN)/mnc train --epochs 3 --output build/train-demo

test: setup lint types-and-lit unit onnx-ci ## what must pass before every commit: slow tests and most cases of long ones are left out

test-all: setup lint types-and-lit unit-all onnx-ci ## the same with all slow tests and cases; onnx-suite has all tests of ONNX

check: test

fmt: setup ## format and fix
	$(BIN)/ruff check --fix .

lint: setup ## ruff
	$(BIN)/ruff check .

types: setup ## pyright
	$(BIN)/basedpyright

versions: ## a wheel under every Python from 3.11 to 3.13 that is installed: import, compile, run, compare
	@scripts/check_versions.sh

types-and-lit: setup # at the same time, since pyright has one thread
	@$(MAKE) --no-print-directory -j 2 --output-sync=target types lit

lit: setup ## IR tests through mnc-opt and FileCheck
	$(BIN)/lit -q test/lit

unit: setup ## pytest: plain algorithms, numbers, commands
	$(BIN)/python -m pytest --fast --durations=20 --durations-min=10

unit-all: setup ## the same with all slow tests and all cases
	$(BIN)/python -m pytest --durations=40 --durations-min=10

onnx-ci: setup ## a fixed sixth of the ONNX backend tests through the chip
	$(BIN)/python -m pytest test/onnx_suite

onnx-suite: setup ## all ONNX backend tests through the chip, writes docs/supported-ops.md
	$(BIN)/python test/onnx_suite/run.py; status=$$?; $(BIN)/python scripts/gen_supported_ops.py && exit $$status

docs: setup ## write generated documents and build the site into build/site
	$(BIN)/python scripts/gen_docs.py
	$(BIN)/python scripts/gen_pass_examples.py
	$(BIN)/python scripts/gen_opcodes.py
	$(BIN)/python scripts/gen_grammar.py
	$(BIN)/python scripts/gen_performance.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

bench: setup ## benchmarks, written to benchmarks/results
	$(BIN)/python -m benchmarks

fuzz: setup ## ten minutes of random files and programs through parser, checker and emulator
	$(BIN)/python scripts/fuzz.py --seconds 600

release: setup ## set the version, close the section of the changelog, commit and tag: make release VERSION=X.Y.Z
	@$(BIN)/python scripts/release.py "$(VERSION)"

clean: ## remove what can be made again
	rm -rf $(VENV) build
