#!/usr/bin/env bash
# Prints the path of a Node of a (major) version, fetched from the npm registry once, for this machine or another:
#   hack/node.sh 24 [linux-x64|linux-arm64]
# Says why and fails where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
major=$1
case "${2:-$(uname -sm)}" in
  'Linux x86_64' | linux-x64) platform=linux-x64 ;;
  'Linux aarch64' | linux-arm64) platform=linux-arm64 ;;
  *) echo "there is no package of Node $major for ${2:-$(uname -sm)}" >&2; exit 1 ;;
esac
package=node-$platform
folder=$PWD/.cache/node/$major-$platform
if [ ! -x "$folder/node" ]; then
  mkdir -p "$folder"
  exec 9> "$folder/lock"
  flock 9
  if [ ! -x "$folder/node" ]; then
    scratch=$(mktemp -d "$folder/XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    (cd "$scratch" && npm pack --silent "$package@$major" > /dev/null && tar xzf ./*.tgz) ||
      { echo "Node $major cannot be fetched: npm pack $package@$major failed" >&2; exit 1; }
    mv "$scratch/package/bin/node" "$folder/node"
  fi
fi
echo "$folder/node"
