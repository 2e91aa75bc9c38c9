#!/usr/bin/env bash
# Builds commands of the reference control plane (Go 1.26) into a cache folder, once.
#   hack/tools/build.sh kube-apiserver etcd kubectl kube-controller-manager helm h2spec kms-plugin cel-evaluator
# Prints the folder. ANNEX_TOOLS_DIR names another folder than .cache/tools.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${ANNEX_TOOLS_DIR:-$here/../../.cache/tools}
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=v1.37.2
set_version="-X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37 -X k8s.io/client-go/pkg/version.gitVersion=$version"
for name in "$@"; do
  # The evaluator is a program of this repository, which changes with its tests.
  [ -x "$out/$name" ] && ! { [ "$name" = cel-evaluator ] && [ "$here/cel-evaluator/main.go" -nt "$out/$name" ] && command -v go > /dev/null; } && continue
  cd "$here"
  case $name in
    etcd | kms-plugin | cel-evaluator | pause) package=./$name ;;
    helm) cd helm && package=helm.sh/helm/v3/cmd/helm ;;
    h2spec) cd h2spec && package=github.com/summerwind/h2spec/cmd/h2spec ;;
    kube-apiserver | kube-controller-manager | kubectl | kube-proxy | kube-scheduler | kubelet) package=k8s.io/kubernetes/cmd/$name ;;
    *) echo "build.sh: unknown command '$name'" >&2; exit 2 ;;
  esac
  echo "building $name (minutes, once) ..." >&2
  CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $set_version" -o "$out/$name.tmp" "$package"
  mv "$out/$name.tmp" "$out/$name"
done
echo "$out"
