# All commands use relative paths from this folder, so the folder may be anywhere.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup check test test-slow demo docs requirements bench-engine bench-feeds bench-limits \
	bench-durability bench-comparison bench-quick bench-scale bench-costs bench-stalls bench-pipeline \
	bench lock clean
.DELETE_ON_ERROR:

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1|/' | \
		while IFS='|' read -r name text; do printf '%-17s %s\n' "$$name" "$$text"; done

setup: $(READY)  ## Create .venv with the locked dependencies and this package

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'Headrace needs Python 3.11 or later, but $(PYTHON) is:' \
			"$$($(PYTHON) --version 2>&1). Choose another with: make PYTHON=python3.12"; exit 1; }
	@[ -x $(BIN)/pip ] || { echo 'Creating .venv'; $(PYTHON) -m venv .venv; }
	@echo 'Installing the locked dependencies; the first time takes about a minute'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		--require-hashes -r requirements/dev.txt
	@echo 'Installing headrace from this folder'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check \
		--no-deps --no-build-isolation --editable .
	@touch $(READY)
	@echo 'Ready'

check: setup  ## Check format, lint, types, import rules, Lua, generated documents, prose
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lint_lua
	$(BIN)/python -m tools.docs.generate --check
	$(BIN)/python -m tools.prose

test: setup check  ## Run check, then all tests except the long ones
	$(BIN)/pytest -n 2 --dist worksteal -m 'not long' --ignore tests/spark
	$(BIN)/pytest -m 'not long' tests/spark

test-slow: setup  ## Run the long tests: a local cluster, repeated kill -9
	$(BIN)/pytest -m long

demo: setup  ## Run the demo
	@$(BIN)/headrace demo

docs: setup  ## Write the generated documents
	@$(BIN)/python -m tools.docs.generate

requirements: setup  ## List the tests of each requirement
	@$(BIN)/python -m tests.requirements

bench-engine: setup  ## Compare the engine with hand-written code on redis-py
	@$(BIN)/python -m benchmarks.engine

bench-limits: setup  ## Measure what limits add to a pop
	@$(BIN)/python -m benchmarks.limits

bench-feeds: setup  ## Measure the latency from a publish to its delivery
	@$(BIN)/python -m benchmarks.feeds

bench-durability: setup  ## Measure what durability= adds to a put
	@$(BIN)/python -m benchmarks.durability

bench-comparison: setup  ## Compare with other queues, about an hour; installs them in benchmarks/.competitors
	@$(BIN)/python -m benchmarks.comparison

bench-quick: setup  ## Compare with four queues, in less than five minutes
	@$(BIN)/python -m benchmarks.comparison --quick

bench-scale: setup  ## Drain over 1, 2 and 4 shards, and model larger Clusters
	@$(BIN)/python -m benchmarks.scale

bench-costs: setup  ## Count round trips, commands, bytes and instructions of each operation
	@$(BIN)/python -m benchmarks.costs

bench-stalls: setup  ## Measure the calls that keep the server busy longest
	@$(BIN)/python -m benchmarks.stalls

bench-pipeline: setup  ## Compare the data pipeline with plain loops
	@$(BIN)/python -m benchmarks.pipeline

bench: setup  ## Run all benchmarks: comparison, scale, costs, stalls, pipeline, engine, feeds, limits, durability
	@failed=0; for name in comparison scale costs stalls pipeline engine feeds limits durability; do \
		$(BIN)/python -m benchmarks.$$name || failed=1; done; exit $$failed

lock: setup  ## Compile requirements/dev.in to dev.txt, keeping versions that still fit
	@[ -x .venv/lock/bin/uv ] || { $(PYTHON) -m venv .venv/lock && \
		.venv/lock/bin/python -m pip install -qq --disable-pip-version-check uv; }
	cd requirements && ../.venv/lock/bin/uv pip compile --quiet --no-config --universal \
		--python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
		--no-emit-find-links --no-annotate dev.in --output-file dev.txt

clean:  ## Remove .venv, caches and built files; data in .headrace stays
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache \
		build dist benchmarks/.competitors
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
