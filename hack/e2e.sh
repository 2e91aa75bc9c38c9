#!/usr/bin/env bash
# Runs the end-to-end tests (test/e2e): a real control plane, three mongods, two replicas of Annex. The first run builds the tools, which
# takes about eight minutes on two idle cores. If they cannot be built, the tests are skipped, and the output states the reason and their number.
#   hack/e2e.sh [jest arguments, e.g. -t 'faults|a cluster']      E2E_CONFIG=test/bench/replicas/jest.config.mjs runs the benchmark on such a cluster
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
programs=(etcd kube-apiserver kube-controller-manager kubectl helm)
tools=${ANNEX_TOOLS_DIR:-$PWD/.cache/tools}
missing=()
for program in "${programs[@]}"; do [ -x "$tools/$program" ] || missing+=("$program"); done
export E2E_MISSING='' E2E_INFORMER='' E2E_RECONCILER=''
if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v go > /dev/null; then
    E2E_MISSING="Go 1.26 is needed to build ${missing[*]}, and is not installed"
  elif ! hack/tools/build.sh "${missing[@]}" > /dev/null; then
    E2E_MISSING="$(go version) cannot build ${missing[*]}"
  fi
fi
mongod=$(hack/mongod.sh 2>&1) || E2E_MISSING=${E2E_MISSING:-$(tail -1 <<< "$mongod")}
if [ -z "$E2E_MISSING" ] && command -v go > /dev/null; then
  if (cd test/conformance/client-go && CGO_ENABLED=0 go build -o "$tools/informer" ./informer); then
    E2E_INFORMER=$(cd "$tools" && pwd)/informer
  fi
  if [ -n "${E2E_WANTS_RECONCILER:-}" ] && (cd test/conformance/client-go && CGO_ENABLED=0 go build -o "$tools/reconciler" ./reconciler); then
    E2E_RECONCILER=$(cd "$tools" && pwd)/reconciler
  fi
fi
[ -z "$E2E_MISSING" ] || echo "skipped: the tests end to end: $E2E_MISSING" >&2
[ -n "$E2E_INFORMER" ] || echo 'the informer of client-go cannot be built here: its tests are skipped' >&2
# jest runs in a process group of its own, so that ending this script ends every process that the tests have started.
ANNEX_TOOLS_DIR=$tools setsid node_modules/.bin/jest -c "${E2E_CONFIG:-test/e2e/jest.config.mjs}" "$@" &
jest=$!
trap 'kill -KILL -- "-$jest"; exit 143' TERM INT
wait "$jest"
