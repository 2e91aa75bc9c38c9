# Everything is built from this folder with Node 20, Python 3 and make; `make run` and `make test` install what they need.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := node_modules/.bin
SOURCES := $(shell find src -name '*.ts' -not -name '*.test.ts')

.PHONY: help run build test test-unit test-integration lint typecheck format clean

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

dist/.built: node_modules/.installed tsconfig.json tsconfig.build.json $(SOURCES)
	$(BIN)/tsc -p tsconfig.build.json
	@chmod +x dist/main.js
	@touch $@

build: dist/.built ## Compiles to dist/.

run: dist/.built ## Starts the server with its data in .annex/ (FLAGS="…" for more flags).
	node dist/main.js serve $(FLAGS)

typecheck: node_modules/.installed ## Checks the types of sources and tests.
	$(BIN)/tsc -p tsconfig.json --noEmit

lint: node_modules/.installed ## ESLint, the layers, the format.
	$(BIN)/eslint src test
	$(BIN)/depcruise src
	$(BIN)/prettier --check src test

format: node_modules/.installed ## Formats sources and tests.
	$(BIN)/prettier --write src test

test-unit: node_modules/.installed ## Unit tests.
	$(BIN)/jest src

test-integration: node_modules/.installed ## Tests through HTTP and of the stores.
	$(BIN)/jest test

test: typecheck lint ## All checks and tests.
	$(BIN)/jest

clean: ## Removes what was built, not what was installed.
	rm -rf dist coverage .cache/jest .cache/tsbuildinfo*
