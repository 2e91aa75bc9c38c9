#!/usr/bin/env bash
# Builds what a release consists of, and pushes nothing:
#   hack/release.sh VERSION [FOLDER]        (release/VERSION unless a folder is named)
#   ARCHITECTURES='amd64 arm64'             of the archives and the image; both unless named
# In the folder: an archive with Node inside for each architecture, the chart, the manifests, an SBOM, licences of the
# dependencies, notes, images as OCI archives where a builder and the base image can be had, and SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo 'release: name the version, as hack/release.sh 0.1.0' >&2; exit 1; }
out=$(realpath -m "${2:-release/$version}")
architectures=${ARCHITECTURES:-amd64 arm64}
helm=$(hack/tools/helm.sh) || { echo 'release: the chart needs helm' >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$out"
mkdir -p "$out"
# Equal input gives equal archives.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}

say() { echo "release: $*"; }

# The files of a package of the npm registry, for any architecture:  fetch NAME@VERSION FOLDER
fetch() {
  mkdir -p "$2"
  (cd "$2" && npm pack --silent "$1" > /dev/null && tar xzf ./*.tgz --strip-components=1 && rm ./*.tgz) ||
    { echo "release: the package $1 cannot be fetched" >&2; exit 1; }
}

stage() {
  say 'the program and its dependencies'
  node hack/build.mjs "$scratch/dist"
  mkdir -p "$scratch/app/packages"
  cp package.json package-lock.json "$scratch/app/"
  for package in packages/*/; do
    mkdir -p "$scratch/app/$package"
    cp "$package/package.json" "$scratch/app/$package"
  done
  # Not npm ci, as in the Makefile.
  (cd "$scratch/app" && npm install --omit=dev --omit=optional --ignore-scripts --no-save --no-audit --no-fund --silent)
  rm -rf "$scratch/app/packages" "$scratch/app/package-lock.json" "$scratch/app/node_modules/@annex" "$scratch/app/node_modules/.bin"
  mv "$scratch/dist" "$scratch/app/dist"
  cp -r data LICENSE NOTICE "$scratch/app/"
  node -e 'const p = JSON.parse(fs.readFileSync(process.argv[1])); p.version = process.argv[2]; delete p.devDependencies; delete p.workspaces; delete p.scripts; fs.writeFileSync(process.argv[1], JSON.stringify(p, null, 2) + "\n")' \
    "$scratch/app/package.json" "$version"
  node hack/licences.mjs "$scratch/app/node_modules" > "$scratch/app/THIRD-PARTY-LICENCES.md"
  cp "$scratch/app/THIRD-PARTY-LICENCES.md" "$out/"
}

archive() {
  local architecture=$1 npm=${1/amd64/x64} name="annex-$version-linux-$1"
  say "the archive for linux/$architecture, with Node 24"
  mkdir -p "$scratch/$name"
  cp -r "$scratch/app" "$scratch/$name/lib"
  install -D "$(hack/node.sh 24 "linux-$npm")" "$scratch/$name/lib/node"
  # The native part of LMDB.
  fetch "@lmdb/lmdb-linux-$npm@$(node -p 'require("./node_modules/lmdb/package.json").version')" "$scratch/$name/lib/node_modules/@lmdb/lmdb-linux-$npm"
  mkdir "$scratch/$name/bin"
  cat > "$scratch/$name/bin/annex" <<'START'
#!/bin/sh
# Follows links, so that one to this file can stand anywhere on PATH.
lib=$(dirname "$(readlink -f "$0")")/../lib
exec "$lib/node" --enable-source-maps "$lib/dist/main.js" "$@"
START
  chmod +x "$scratch/$name/bin/annex"
  ln -s annex "$scratch/$name/bin/kubectl-annex"
  cp LICENSE NOTICE README.md CHANGELOG.md "$scratch/$name/"
  tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -n > "$out/$name.tar.gz"
  rm -rf "${scratch:?}/$name"
}

chart() {
  say 'the chart and the manifests'
  "$helm" package charts/annex --version "$version" --app-version "$version" --destination "$out" > /dev/null
  sed "s/:$(node -p 'require("./package.json").version')\"/:$version\"/; s#app.kubernetes.io/version: \".*\"#app.kubernetes.io/version: \"$version\"#" manifests/annex.yaml > "$out/annex.yaml"
}

sbom() {
  say 'the SBOM'
  # Of the lock file: what is installed here may lack other platforms' parts.
  SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH node_modules/.bin/cyclonedx-npm --omit dev --package-lock-only --ignore-npm-errors --output-reproducible \
    --output-format JSON --output-file "$out/annex-$version.cdx.json" package.json 2> "$scratch/sbom.log" || { cat "$scratch/sbom.log" >&2; exit 1; }
}

notes() {
  # The section of the version, or what is not released yet.
  awk -v wanted="$version" '/^## /{on = ($2 == wanted || $2 == "Unreleased") && !done; if (on) {done = 1; next}} on' CHANGELOG.md > "$out/NOTES.md"
}

image() {
  local architecture=$1 file="$out/annex-$version-image-linux-$1.tar" log="$scratch/image-$1.log"
  if docker buildx version > /dev/null 2>&1 && docker info > /dev/null 2>&1; then
    say "the image for linux/$architecture"
    docker buildx build --platform "linux/$architecture" --tag "annex:$version" --output "type=oci,dest=$file" . > "$log" 2>&1 && return
  elif command -v buildah > /dev/null; then
    say "the image for linux/$architecture"
    buildah build --platform "linux/$architecture" --tag "annex:$version" . > "$log" 2>&1 && buildah push "annex:$version" "oci-archive:$file" >> "$log" 2>&1 && return
  else
    say "skipped: the image for linux/$architecture: there is no docker buildx with a daemon, and no buildah"
    return
  fi
  rm -f "$file"
  say "skipped: the image for linux/$architecture: $(tail -1 "$log")"
}

stage
for architecture in $architectures; do archive "$architecture"; done
chart
sbom
notes
for architecture in $architectures; do image "$architecture"; done
(cd "$out" && sha256sum -- * > "$scratch/sums" && mv "$scratch/sums" SHA256SUMS)
say "$(find "$out" -maxdepth 1 -type f | wc -l) files in $out"
