#!/usr/bin/env bash
# Demo: installs a type, creates thousands of objects and works with them through kubectl. In a cluster that runs Annex, the type
# belongs to the cluster, and the demo ends by rehearsing its adoption.
#   examples/demo.sh [KUBECONFIG [COUNT]]     (default: .annex/admin.kubeconfig, 10000)
# If no server answers at that kubeconfig, it starts one in a temporary directory and removes it at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
config=${1:-.annex/admin.kubeconfig}
count=${2:-10000}
kubectl=${KUBECTL:-kubectl}
bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'
k() { "$kubectl" --kubeconfig "$config" "$@"; }
show() { printf '\n%s$ kubectl %s%s\n' "$bold" "$*" "$plain"; k "$@"; }
first() { local lines=$1; shift; printf '\n%s$ kubectl %s | head -%d%s\n' "$bold" "$*" "$lines" "$plain"; k "$@" | { head -n "$lines"; cat > /dev/null; }; }
refused() { printf '\n%s$ kubectl %s%s\n' "$bold" "$*" "$plain"; if k "$@"; then echo 'demo: this request should have been rejected' >&2; exit 1; fi; }
title() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }

own=''
finish() {
  [ -z "$own" ] || { kill "$server" 2> /dev/null; wait "$server" 2> /dev/null || true; rm -rf "$own"; }
}
trap finish EXIT
if ! k get --raw /readyz > /dev/null 2>&1; then
  own=$(mktemp -d)
  config=$own/admin.kubeconfig
  node dist/main.js serve --data-dir "$own" --bind-address 127.0.0.1 --secure-port 0 > "$own/out" 2> "$own/log" &
  server=$!
  for _ in $(seq 600); do
    grep -q 'Annex serves' "$own/out" && break
    kill -0 "$server" 2> /dev/null || { cat "$own/log" >&2; exit 1; }
    sleep 0.1
  done
  head -1 "$own/out"
fi

title 'Install a type from its published CustomResourceDefinition'
show apply --server-side -f examples/crds/wgpolicyk8s.io_policyreports.yaml
k wait --for=condition=Established crd/policyreports.wgpolicyk8s.io --timeout=60s > /dev/null
k apply --server-side -f examples/crds > /dev/null
k get namespace reports > /dev/null 2>&1 || k create namespace reports > /dev/null

title "Create $count policy reports in 50 namespaces"
node examples/generate-reports.mjs "$config" "$count" 50

title 'List as a table, by namespace and across all namespaces'
first 4 get policyreports -n team-7
printf '\n%s$ kubectl get policyreports -A -o name | wc -l%s\n' "$bold" "$plain"
k get policyreports -A -o name | wc -l

title 'Watch an object while it is patched'
"$kubectl" --kubeconfig "$config" get policyreport report-00007 -n team-7 --watch-only > "${own:-/tmp}/watch.$$" &
watcher=$!
sleep 1
show patch policyreport report-00007 -n team-7 --type=merge -p '{"summary":{"pass":9,"fail":1}}'
for _ in $(seq 100); do [ -s "${own:-/tmp}/watch.$$" ] && break; sleep 0.1; done
kill "$watcher" 2> /dev/null && wait "$watcher" 2> /dev/null || true
printf '%sthe watch: %s%s\n' "$dim" "$plain" "$(tail -1 "${own:-/tmp}/watch.$$")"
rm -f "${own:-/tmp}/watch.$$"

title 'Reject invalid objects with a CEL policy'
show apply -f examples/policy.yaml
for _ in $(seq 100); do
  k create --dry-run=server -f examples/policy-violation.yaml > /dev/null 2>&1 || break
  sleep 0.1
done
refused create -f examples/policy-violation.yaml

title 'Detect field ownership conflicts with server-side apply'
printf '%s' '{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"shared","namespace":"reports"},"summary":{"pass":1}}' |
  k apply --server-side --field-manager=scanner -f - > /dev/null
printf '%s' '{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"shared","namespace":"reports"},"summary":{"pass":2}}' > "${own:-/tmp}/shared.$$"
printf '\n%s$ kubectl apply --server-side --field-manager=other -f shared.json%s\n' "$bold" "$plain"
k apply --server-side --field-manager=other -f "${own:-/tmp}/shared.$$" 2>&1 | head -1 || true
rm -f "${own:-/tmp}/shared.$$"

title 'Explain the fields of a type'
first 14 explain policyreport.summary

if k get --raw /apis/kubeannex.io/v1alpha1 > /dev/null 2>&1 && [ -z "$own" ]; then
  title 'Rehearse an adoption: copy, follow and compare the group while the cluster keeps serving it'
  printf '\n%s$ annex adopt wgpolicyk8s.io%s\n' "$bold" "$plain"
  # If something prevents the adoption, the plan says what.
  if node dist/main.js adopt wgpolicyk8s.io --kubeconfig "$config"; then
    show get adoptions
    k delete adoption wgpolicyk8s.io --timeout=60s > /dev/null
  fi
fi

k delete -f examples/policy.yaml > /dev/null
printf '\nNext: docs/install.md installs Annex in a cluster, docs/standalone.md runs it as a standalone server.\n'
