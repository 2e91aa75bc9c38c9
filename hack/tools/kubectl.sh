#!/usr/bin/env bash
# Prints the path of a kubectl: the one built before, else built now where Go is there, else one on PATH.
# Says why and fails where there is none.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=${ANNEX_TOOLS_DIR:-$here/../../.cache/tools}
built=$tools/kubectl
if [ ! -x "$built" ] && command -v go > /dev/null; then
  "$here/build.sh" kubectl > /dev/null || echo 'kubectl cannot be built with this Go' >&2
fi
if [ -x "$built" ]; then
  (cd "$tools" && echo "$PWD/kubectl")
elif command -v kubectl > /dev/null; then
  command -v kubectl
else
  echo 'no kubectl: Go is not installed to build one, and there is none on PATH' >&2
  exit 1
fi
