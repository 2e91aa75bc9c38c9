#!/usr/bin/env bash
# Kubernetes' own integration tests against Annex: the packages are built from the Go module k8s.io/kubernetes with a test server
# that starts Annex (test/conformance/kubernetes/testserver.go.txt). Needs Go, its module proxy and etcd (hack/tools/build.sh).
#   hack/kubernetes-suites.sh [PACKAGE…] [-- FLAGS OF THE TEST PROGRAM]      packages of test/integration/apiserver; default: admissionwebhook cel
# REBUILD=yes builds the programs anew. The last line is `N passed, N failed, N skipped`; each package's log is in .cache/suites.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
version=1.36.3
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
fi
server=$source/cmd/kube-apiserver/app/testing/testserver.go
if ! cmp -s "$root/test/conformance/kubernetes/testserver.go.txt" "$server"; then
  cp "$root/test/conformance/kubernetes/testserver.go.txt" "$server"
  REBUILD=yes
fi
(cd "$root" && node hack/build.mjs --if-stale)
export ANNEX_MAIN=$root/dist/main.js ANNEX_NODE=${NODE:-$(command -v node)} PATH=$tools:$PATH
status=0
passed=0 failed=0 skipped=0
for package in "${packages[@]}"; do
  program=$work/${package//\//-}.test
  log=$work/${package//\//-}.log
  folder=$source/test/integration/apiserver/$package
  if [ ! -x "$program" ] || [ -n "${REBUILD:-}" ]; then
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
