#!/usr/bin/env bash
# Runs Kubernetes' own integration tests against Annex: the packages are built from the Go module k8s.io/kubernetes with a test server
# that starts Annex (test/conformance/kubernetes/testserver.go.txt). Needs Go, its module proxy and etcd (hack/tools/build.sh).
#   hack/kubernetes-suites.sh [PACKAGE…] [-- FLAGS OF THE TEST PROGRAM]      packages of test/integration/apiserver; default: admissionwebhook cel
# REBUILD=yes rebuilds the programs. The last line is `N passed, N failed, N skipped`; each package's log is in .cache/suites.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=1.37.2
packages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do packages+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#packages[@]} -gt 0 ] || packages=(admissionwebhook cel)
tools=$("$root/hack/tools/build.sh" etcd)
work=$root/.cache/suites
source=$work/kubernetes
if [ ! -e "$source/go.mod" ]; then
  module=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  mkdir -p "$source"
  for folder in api cmd pkg plugin test third_party; do cp -r "$module/$folder" "$source/"; done
  chmod -R u+w "$source"
  cat "$module/go.sum" "$module/go.work.sum" | sort -u > "$source/go.sum"
  sed -E "s#^(replace )?(\s*)k8s.io/([a-z-]+) => ./staging/src/k8s.io/[a-z-]+#\1\2k8s.io/\3 => k8s.io/\3 v0.${version#1.}#" "$module/go.mod" > "$source/go.mod"
  # Annex has only the two built-in priority classes.
  sed -i 's/map\[string\]int{"low-priority": 1, "high-priority": 10}/map[string]int{}/; s/low-priority/system-node-critical/; s/high-priority/system-cluster-critical/g' \
    "$source/test/integration/apiserver/admissionwebhook/reinvocation_test.go"
fi
server=$source/cmd/kube-apiserver/app/testing/testserver.go
cmp -s "$root/test/conformance/kubernetes/testserver.go.txt" "$server" || cp "$root/test/conformance/kubernetes/testserver.go.txt" "$server"
(cd "$root" && node hack/build.mjs --if-stale)
export ANNEX_MAIN=$root/dist/main.js ANNEX_NODE=${NODE:-$(command -v node)} PATH=$tools:$PATH
status=0
passed=0 failed=0 skipped=0
for package in "${packages[@]}"; do
  program=$work/${package//\//-}.test
  log=$work/${package//\//-}.log
  folder=$source/test/integration/apiserver/$package
  if [ "$server" -nt "$program" ] || [ -n "${REBUILD:-}" ]; then
    echo "building $package (minutes, once) ..." >&2
    (cd "$source" && GOWORK=off GOFLAGS=-mod=mod go test -c -o "$program" "./test/integration/apiserver/$package")
  fi
  rm -rf "${TMPDIR:-/tmp}/annex-suites"
  (cd "$folder" && "$program" -test.v -test.timeout 60m "$@") > "$log" 2>&1 || status=1
  grep -E '^ *--- (FAIL|SKIP)|^(FAIL|panic)' "$log" || true
  passed=$((passed + $(grep -cE '^ *--- PASS' "$log" || true)))
  failed=$((failed + $(grep -cE '^ *--- FAIL' "$log" || true)))
  skipped=$((skipped + $(grep -cE '^ *--- SKIP' "$log" || true)))
done
rm -rf "${TMPDIR:-/tmp}/annex-suites"
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
