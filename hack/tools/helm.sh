#!/usr/bin/env bash
# Prints the path of a helm: the one built before, else one on PATH, else built now where Go is there.
# Says why and fails where there is none.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=${ANNEX_TOOLS_DIR:-$here/../../.cache/tools}
if [ ! -x "$tools/helm" ]; then
  if command -v helm; then exit; fi
  if command -v go > /dev/null; then
    "$here/build.sh" helm > /dev/null || echo 'helm cannot be built with this Go' >&2
  fi
fi
if [ ! -x "$tools/helm" ]; then
  echo 'no helm: Go is not installed to build one, and there is none on PATH' >&2
  exit 1
fi
(cd "$tools" && echo "$PWD/helm")
