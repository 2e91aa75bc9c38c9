#!/usr/bin/env bash
# Prints the path of a Python that has the official Kubernetes client. Installs it from the package index on first use.
# Fails with the reason if it cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.cache/python-client
mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9
if ! "$folder/venv/bin/python" -c 'import kubernetes' 2> /dev/null; then
  { python3 -m venv --clear "$folder/venv" &&
    "$folder/venv/bin/pip" -q install --disable-pip-version-check -r test/conformance/python/requirements.txt; } > "$folder/log" 2>&1 ||
    { echo "the Python client cannot be installed: $(tail -1 "$folder/log")" >&2; exit 1; }
fi
echo "$folder/venv/bin/python"
