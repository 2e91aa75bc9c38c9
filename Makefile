# Needs Node 24 (at least 20.19), Python 3 and make. `make run` and `make test` install everything else.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := node_modules/.bin
SOURCES := $(shell find src packages -name '*.ts' -not -name '*.test.ts')
# The folder of the reference control plane's commands, which are built once.
TOOLS := $(or $(ANNEX_TOOLS_DIR),.cache/tools)
KUBECTL := $(TOOLS)/kubectl
PYTHON := .cache/python/bin/python
# The kubeconfig of the running server, for make demo.
KUBECONFIG_FILE ?= .annex/admin.kubeconfig

.PHONY: release manifests resource-definition help run demo build test test-unit test-integration test-kubectl conformance-go alerts pictures faults soak mongodb-oldest cluster e2e e2e-cluster e2e-switch adoption-campaign e2e-oldest e2e-all data oracle bench bench-node bench-scale bench-mongodb bench-replicas bench-adoption lint typecheck format docs tools clean

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

# npm ci would reject a lock file that lacks the optional binaries of other platforms, which not every registry has.
node_modules/.installed: package.json package-lock.json $(wildcard packages/*/package.json)
	npm install --no-save --no-audit --no-fund
	@touch $@

dist/.sources: node_modules/.installed tsconfig.json tsconfig.build.json hack/build.mjs $(SOURCES)
	node hack/build.mjs --if-stale
	@touch $@

build: dist/.sources ## Bundles the program into dist/.

run: dist/.sources ## Starts the server with its data in .annex/ (FLAGS="…" for more flags).
	node dist/main.js serve $(FLAGS)

tools: ## Builds kubectl where Go is there; else the one on PATH is used.
	@hack/tools/kubectl.sh > /dev/null || true

demo: dist/.sources tools ## A first look: kubectl at work on 10,000 reports, in a server of its own or that of `make run`.
	KUBECTL="$$(hack/tools/kubectl.sh)" examples/demo.sh $(KUBECONFIG_FILE)

typecheck: node_modules/.installed ## Checks the types of sources and tests.
	$(BIN)/tsc -p tsconfig.json --noEmit

# ESLint keeps the types of all files in memory (3.5 GB): one run takes 62 s, nine smaller runs take 104 s.
lint: node_modules/.installed ## ESLint, the layers, unused exports and dependencies, the format.
	@status=0; \
	NODE_OPTIONS=--max-old-space-size=6144 $(BIN)/eslint src packages test || status=1; \
	$(BIN)/depcruise src packages || status=1; \
	$(BIN)/knip --include files,dependencies,unlisted,exports,types || status=1; \
	$(BIN)/prettier --check --log-level warn src packages test || status=1; \
	exit $$status

format: node_modules/.installed ## Formats sources and tests.
	$(BIN)/prettier --write --log-level warn src packages test

data: node_modules/.installed ## Makes what data/ has of Kubernetes and the declarations of its kinds anew, from the version of hack/tools/go.mod (needs Go and openssl).
	node hack/data.mjs
	node hack/declarations.mjs

docs: dist/.sources ## Writes docs/flags.md and docs/metrics.md anew.
	node hack/docs.mjs

release: dist/.sources ## Builds archives, chart, SBOM and checksums of VERSION=… into release/.
	hack/release.sh $(VERSION)

manifests: ## Writes manifests/annex.yaml, the dashboards and the expectations of its tests anew, from the chart (needs helm or Go).
	hack/manifests.sh

resource-definition: ## Turns the CustomResourceDefinitions in FILE into ResourceDefinitions, on standard output.
	@$(MAKE) -s --no-print-directory node_modules/.installed >&2
	@node hack/resource-definition.mjs $(FILE)

$(PYTHON): hack/requirements.txt
	python3 -m venv .cache/python
	.cache/python/bin/pip -q install --disable-pip-version-check -r hack/requirements.txt
	@touch $@

test-unit: node_modules/.installed ## Unit tests (NODE=24: on another Node).
	$(if $(NODE),"$$(hack/node.sh $(NODE))" --disable-warning=ExperimentalWarning )$(BIN)/jest src packages

test-integration: dist/.sources ## Tests through HTTP and of the stores.
	$(BIN)/jest test --testPathIgnorePatterns test/conformance --testPathIgnorePatterns test/e2e

test-kubectl: dist/.sources tools ## The conformance of kubectl.
	$(BIN)/jest test/conformance

alerts: dist/.sources ## Injects the fault of each alert: a real Prometheus sees it fire and resolve.
	ANNEX_ALERTS=all $(BIN)/jest --forceExit test/alerts/injected
	ANNEX_ALERTS=all hack/e2e.sh -t 'helm install|widgets are defined|alerts of a cluster'

pictures: dist/.sources tools ## Records the demo and draws the dashboards anew, into docs/pictures.
	node hack/record-demo.mjs
	node hack/dashboard-pictures.mjs

faults: dist/.sources ## Two servers while MongoDB and the way to it fail, for twice MINUTES (ANNEX_FAULT_SEED=… repeats a run).
	ANNEX_FAULT_MINUTES=$(or $(MINUTES),20) ANNEX_FAULT_SEED=$${ANNEX_FAULT_SEED:-$$RANDOM} $(BIN)/jest test/faults/faults

soak: ## The same for an hour.
	$(MAKE) faults MINUTES=30

mongodb-oldest: dist/.sources ## The tests of the store, and the recorded scenarios, on MongoDB 5.0. Takes ten minutes.
	MONGOD="$$(hack/mongod-oldest.sh)" $(BIN)/jest test/storage test/integration/mongodb
	MONGOD="$$(hack/mongod-oldest.sh)" hack/oracle.sh mongodb

e2e: dist/.sources ## End to end: Annex in a cluster of real parts, where Go 1.26 is there to build them.
	hack/e2e.sh

cluster: ## A cluster of two nodes with pods, in network namespaces (needs root and containerd); `hack/cluster/cluster.sh down` removes it.
	hack/cluster/cluster.sh up

e2e-cluster: node_modules/.installed ## Annex in pods on that cluster: every command of the guides, outages of MongoDB, Annex and a node (15 minutes).
	hack/cluster/e2e.sh

e2e-switch: dist/.sources ## Adoptions under load with two kube-apiservers: switched, killed, given up. Takes about five minutes.
	E2E_WANTS_RECONCILER=yes E2E_CONFIG=test/e2e/switch/jest.config.mjs hack/e2e.sh

adoption-campaign: dist/.sources ## Adoptions while parts of the cluster and of Annex fail, at random (SEED=1 ROUNDS=5; a round takes half a minute).
	ANNEX_ADOPTION_SEED=$(or $(SEED),1) ANNEX_ADOPTION_ROUNDS=$(or $(ROUNDS),5) \
	  E2E_CONFIG=test/e2e/switch/campaign/jest.config.mjs hack/e2e.sh

e2e-oldest: dist/.sources ## The same with the oldest version of Kubernetes that is promised to work (VERSION=1.34.4).
	ANNEX_TOOLS_DIR="$$(hack/tools/kubernetes.sh $(or $(VERSION),1.34.4))" hack/e2e.sh

e2e-all: dist/.sources ## The same with each version of Kubernetes that is promised to work (VERSIONS=…), the newest last. Builds each, once.
	for version in $(or $(VERSIONS),1.34.4 1.35.4 1.36.3); do ANNEX_TOOLS_DIR="$$(hack/tools/kubernetes.sh $$version)" hack/e2e.sh; done
	hack/e2e.sh

conformance-go: dist/.sources ## The clients of Go, where Go 1.26 is there.
	hack/conformance-go.sh

oracle: dist/.sources $(PYTHON) ## Replays the recorded answers of kube-apiserver against the server, on both stores (or BACKEND=embedded).
	for backend in $(or $(BACKEND),embedded mongodb); do \
	  PATH="$(CURDIR)/.cache/python/bin:$$PATH" hack/oracle.sh "$$backend"; \
	done

bench: dist/.sources ## Load, side by side with kube-apiserver where it is built (needs Go).
	hack/bench.sh $(SCENARIOS)

bench-node: dist/.sources ## Versions of Node side by side, or (VARIANTS=flags) the V8 flags that the server sets. Needs Go and a quiet machine.
	hack/bench-node.sh

bench-scale: dist/.sources ## A large collection: memory, reads, writes and a restart (OBJECTS=1000000). Takes minutes.
	node test/bench/scale.mjs --objects $(or $(OBJECTS),1000000)

bench-mongodb: dist/.sources ## The same on MongoDB, after the store by itself: one and two replicas, events between them.
	hack/with-mongod.sh node test/bench/managedfields-run.mjs test/bench/mongodb.bench.ts $(SECONDS_EACH)
	BACKEND=mongodb hack/bench.sh $(SCENARIOS)

bench-adoption: dist/.sources ## Copying and switching a group (OBJECTS=50000 RATE=100000), on a cluster of real parts.
	E2E_CONFIG=test/bench/adoption/jest.config.mjs hack/e2e.sh

bench-replicas: dist/.sources ## Two replicas behind a real aggregator, on a set of three mongods (needs Go): writes, events between them, the aggregator's cost.
	E2E_CONFIG=test/bench/replicas/jest.config.mjs hack/e2e.sh

test: node_modules/.installed $(PYTHON) ## All checks and tests.
	@PATH="$(CURDIR)/.cache/python/bin:$$PATH" hack/test.sh

clean: ## Removes what was built, not what was installed.
	rm -rf dist coverage .cache/jest .cache/results .cache/compiled .cache/tsbuildinfo*
