#!/usr/bin/env bash
# Prints the path of a Node binary for this machine or another platform. Downloads it from the npm registry on first use:
#   hack/node.sh VERSION [linux-x64|linux-arm64]
# VERSION is an exact version (24.21.0) or a major version. The major version of .node-version selects exactly the version in that file, so
# that tests run on the Node that releases contain. Fails with the reason if there is no such package.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
pinned=$(< .node-version)
if [ "$version" = "${pinned%%.*}" ]; then version=$pinned; fi
case "${2:-$(uname -sm)}" in
  'Linux x86_64' | linux-x64) platform=linux-x64 ;;
  'Linux aarch64' | linux-arm64) platform=linux-arm64 ;;
  *) echo "there is no package of Node $version for ${2:-$(uname -sm)}" >&2; exit 1 ;;
esac
package=node-$platform
folder=$PWD/.cache/node/$version-$platform
if [ ! -x "$folder/node" ]; then
  mkdir -p "$folder"
  exec 9> "$folder/lock"
  flock 9
  if [ ! -x "$folder/node" ]; then
    scratch=$(mktemp -d "$folder/XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    (cd "$scratch" && npm pack --silent "$package@$version" > /dev/null && tar xzf ./*.tgz) ||
      { echo "Node $version cannot be fetched: npm pack $package@$version failed" >&2; exit 1; }
    mv "$scratch/package/bin/node" "$folder/node"
  fi
fi
echo "$folder/node"
