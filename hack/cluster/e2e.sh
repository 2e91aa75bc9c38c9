#!/usr/bin/env bash
# Annex in pods, on a cluster of two nodes that is made for it and removed at the end. Without what the cluster needs, it says what is
# missing and ends with 3.
#   hack/cluster/e2e.sh [STAGE…]     all stages of stages.sh by default, in their order
# KEEP=1 keeps the cluster, and uses the one that an earlier run has kept. E2E_OUTAGE_SECONDS (45): how long MongoDB is away.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/annex-e2e-cluster} CLUSTER_PREFIX=${CLUSTER_PREFIX:-annexe}
cluster=hack/cluster/cluster.sh
scratch=$(mktemp -d)
made=''
finish() {
  status=$?
  if [ $status -ne 0 ] && [ -n "$made" ]; then
    $cluster kubectl get pods -A -o wide || true
    $cluster kubectl get rd,adoptions,apiservices -l '!kube-aggregator.kubernetes.io/automanaged' || true
    $cluster kubectl -n annex-system logs --selector app.kubernetes.io/name=annex --tail 20 || true
  fi
  if [ -n "$made" ] && [ "${KEEP:-}" != 1 ]; then $cluster down || true; fi
  rm -rf "$scratch"
  exit $status
}
trap finish EXIT

step() { echo "== $* ($SECONDS s)"; }
fail() { echo "e2e: $*" >&2; exit 1; }
# eventually COMMAND…: within 240 s.
eventually() {
  local deadline=$((SECONDS + 240))
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || fail "not within 240 s: $*"
    sleep 0.5
  done
}
# Commands run as the guides have them, in the network of the control plane (or of $WHERE).
guide() {
  KUBECONFIG=$CLUSTER_DIR/kubeconfig PATH=$scratch/bin:$PATH HOME=$scratch $cluster in "${WHERE:-cp}" bash -euo pipefail -c "$1"
}
# prints TEXT COMMAND…: the output of the command has a line that matches.
prints() {
  "${@:2}" > "$scratch/printed" 2>&1 || { cat "$scratch/printed" >&2; fail "failed: ${*:2}"; }
  cat "$scratch/printed"
  grep -q -E "$1" "$scratch/printed" || fail "$1 is not in the output of ${*:2}"
}
# blocks PAGE [HEADING]: the commands of a page of docs/, or of one section. Those for a server without a cluster have kinds of their own.
blocks() {
  awk -v heading="${2:+## $2}" 'BEGIN {on = heading == ""} /^## / && heading != "" {on = $0 == heading}
    on && /^```sh( pods| cluster)?$/{inside = 1; next} /^```/{inside = 0} on && inside' "docs/$1"
}
# follow PAGE [HEADING]: runs them. `kubectl top` needs a metrics-server, and --data-dir a standalone server; both are not here.
follow() {
  local script
  script=$(blocks "$@" | sed '/ top pods /d; /--data-dir/d')
  [ -n "$script" ] || fail "no commands: $*"
  guide "$tolerant$script"
}
# A log without a matching line, and the answer "no", are no failures.
tolerant='grep() { command grep "$@" || [ $? = 1 ]; }
kubectl() { command kubectl "$@" || [ "$1 $2" = "auth can-i" ]; }
'

# shellcheck source=hack/cluster/stages.sh
. hack/cluster/stages.sh
# shellcheck source=hack/cluster/faults.sh
. hack/cluster/faults.sh
$cluster check
made=yes
step 'a cluster of two nodes'
[ "${KEEP:-}" = 1 ] && [ -e "$CLUSTER_DIR/kubeconfig" ] || $cluster up
helm=$(hack/tools/helm.sh)
version=$(node -p 'require("./package.json").version')
export IMAGE=localhost/annex
mkdir "$scratch/bin"
program() { printf '#!/bin/sh\nexec %s "$@"\n' "$2" > "$scratch/bin/$1" && chmod +x "$scratch/bin/$1"; }
program helm "\"$(realpath "$helm")\""
program kubectl "\"$(realpath "$($cluster tools)/kubectl")\""
program annex "\"$(command -v node)\" \"$PWD/dist/main.js\""
for stage in "${@:-all}"; do
  if [ "$stage" = all ]; then for stage in $STAGES; do step "$stage"; "stage_$stage"; done; else step "$stage"; "stage_$stage"; fi
done
step done
