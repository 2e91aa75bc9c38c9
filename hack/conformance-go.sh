#!/usr/bin/env bash
# Tests Go clients against the built server: client-go's dynamic, typed and metadata clients, informers and leader election, a manager of
# controller-runtime, and what kubeadm and kubelets do to join. Without Go, the tests are skipped. The last line is `N passed, N failed`.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v go > /dev/null; then
  echo 'skipped: the Go clients need Go 1.26 or newer, which is not installed'
  echo '0 passed, 0 failed'
  exit 0
fi
if ! (cd "$root/test/conformance/client-go" && go mod download) ; then
  echo "skipped: $(go version) cannot load the modules of the Go clients"
  echo '0 passed, 0 failed'
  exit 0
fi
(cd "$root" && node hack/build.mjs --if-stale) || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
(cd "$root/test/conformance/client-go" && ANNEX_MAIN="$root/dist/main.js" go test ./... -count=1 -v -timeout 15m "$@") 2>&1 | tee "$log" | grep -E '^ *(---|ok|FAIL|panic|[a-z_]+_test\.go)'
status=${PIPESTATUS[0]}
good=$(grep -c '^--- PASS' "$log")
bad=$(grep -c '^--- FAIL' "$log")
# A test that does not compile or does not finish counts as a failure.
if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then cat "$log" && bad=1; fi
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
