#!/usr/bin/env bash
# Loads real policy and vulnerability reports into a running server and shows what kubectl does with them.
#   examples/demo.sh [KUBECONFIG [COUNT]]     (default: .annex/admin.kubeconfig, 10000)
set -euo pipefail
cd "$(dirname "$0")/.."
config=${1:-.annex/admin.kubeconfig}
count=${2:-10000}
if [ ! -f "$config" ]; then
  echo "demo: $config is not there; start the server first with 'make run' (in another terminal)" >&2
  exit 1
fi
kubectl=${KUBECTL:-kubectl}
k() { "$kubectl" --kubeconfig "$config" "$@"; }
show() { printf '\n\033[1m$ kubectl %s\033[0m\n' "$*"; k "$@"; }
title() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

title 'Definitions'
k apply --server-side -f examples/crds
for crd in $(k get -f examples/crds -o name); do k wait --for=condition=Established "$crd" --timeout=30s; done

title 'The samples as they are'
k get namespace reports >/dev/null 2>&1 || k create namespace reports
k apply -n reports -f examples/objects

title "$count policy reports in 50 namespaces"
node examples/generate-reports.mjs "$config" "$count" 50

title 'Tables'
show get policyreports -n team-7 --sort-by=.metadata.name -l demo/shard=7
show get policyreports,configauditreports,exposedsecretreports -n reports -o wide
printf '\n%s policy reports in all namespaces\n' "$(k get policyreports -A -o name --chunk-size=500 | wc -l)"

title 'A watch sees a patch'
timeout 5 "$kubectl" --kubeconfig "$config" get policyreport report-00007 -n team-7 -w &
watcher=$!
sleep 1
show patch policyreport report-00007 -n team-7 --type=merge -p '{"summary":{"pass":9,"fail":1}}'
wait "$watcher" || true

title 'What the fields mean'
show explain policyreport.summary
