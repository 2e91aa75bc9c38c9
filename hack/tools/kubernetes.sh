#!/usr/bin/env bash
# Builds kube-apiserver and kube-controller-manager of another version of Kubernetes into a folder of their own, once, for the
# compatibility matrix: hack/tools/kubernetes.sh 1.34.4
# Prints the folder: .cache/tools/v1.34.4, with links to the other tools. Needs Go and its module proxy.
set -euo pipefail
version=${1:?usage: hack/tools/kubernetes.sh VERSION, for instance 1.34.4}
tools=$("$(dirname "$0")/build.sh" etcd kubectl helm)
out=$tools/v$version
mkdir -p "$out/module"
cd "$out/module"
staged=v0.${version#1.}
if [ ! -e go.sum ]; then
  source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  {
    echo "module annex.local/kubernetes"
    sed -n '/^go /p; /^godebug/,/^)/p' "$source/go.mod"
    echo "require k8s.io/kubernetes v$version"
    sed -n "s#^\t*\(replace \)\?\(k8s.io/[a-z-]*\) => ./staging/.*#replace \2 => \2 $staged#p" "$source/go.mod"
    # Those that are not replaced by name are used from the work folder.
    ls "$source/staging/src/k8s.io" 2> /dev/null | sed "s#.*#replace k8s.io/& => k8s.io/& $staged#" || true
  } | awk '!/^replace/ || !seen[$0]++' > go.mod
  cat > tools.go << 'END'
//go:build tools

package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
END
  go mod tidy >&2
fi
for name in kube-apiserver kube-controller-manager; do
  [ -x "$out/$name" ] && continue
  echo "building $name v$version (minutes, once) ..." >&2
  minor=${version#1.}
  CGO_ENABLED=0 go build -trimpath -o "$out/$name.tmp" \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}" \
    "k8s.io/kubernetes/cmd/$name"
  mv "$out/$name.tmp" "$out/$name"
done
for name in etcd kubectl helm; do ln -sfn "../$name" "$out/$name"; done
echo "$out"
