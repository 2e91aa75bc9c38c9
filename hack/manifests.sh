#!/usr/bin/env bash
# Writes the chart's dashboards and what the chart makes: manifests/annex.yaml and manifests/annex-doctor.yaml, for use without helm,
# and the expectations of test/chart.
set -euo pipefail
cd "$(dirname "$0")/.."
node hack/dashboards.mjs
helm=$(hack/tools/helm.sh)
render() { "$helm" template annex charts/annex --namespace annex-system --kube-version 1.36.3 "$@"; }
# Nothing that is for helm.
without_helm() { sed -E '/^ *(app\.kubernetes\.io\/managed-by: Helm|helm\.sh\/(chart|hook|hook-delete-policy): .*)$/d; /^# Source: /d'; }
mkdir -p manifests test/chart/golden
for values in charts/annex/ci/*-values.yaml; do
  name=$(basename "$values" -values.yaml)
  render --values "$values" > "test/chart/golden/$name.yaml"
done
{
  echo '# Annex in the namespace annex-system, with MongoDB: the Secret annex-mongodb there must have the URI in its key `uri`.'
  echo '# Made from charts/annex by `make manifests`; change the chart, not this file.'
  printf 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: annex-system\n'
  render --skip-tests | without_helm
} > manifests/annex.yaml
{
  echo '# Looks at what Annex needs, also when it cannot start: the Job that `helm test` runs. Made by `make manifests`.'
  render --show-only templates/tests/doctor.yaml | without_helm | sed '/^  annotations:$/d'
} > manifests/annex-doctor.yaml
