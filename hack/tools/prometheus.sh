#!/usr/bin/env bash
# Prints the folder that has promtool and prometheus: those on PATH, else those of Debian's package, unpacked into .cache/tools.
# Says why and fails where there are none.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if command -v promtool > /dev/null && command -v prometheus > /dev/null; then
  dirname "$(command -v promtool)"
  exit
fi
tools=${ANNEX_TOOLS_DIR:-$here/../../.cache/tools}
if [ ! -x "$tools/promtool" ]; then
  mkdir -p "$tools"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  (cd "$scratch" && apt-get download prometheus > /dev/null 2>&1 && dpkg-deb -x prometheus_*.deb unpacked) &&
    cp "$scratch"/unpacked/usr/bin/prom* "$tools/"
fi
if [ ! -x "$tools/promtool" ]; then
  echo 'no promtool: it is not on PATH, and the Debian package prometheus cannot be downloaded' >&2
  exit 1
fi
(cd "$tools" && pwd)
