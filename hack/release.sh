#!/usr/bin/env bash
# Builds the files of a release. Publishes nothing:
#   hack/release.sh VERSION [FOLDER]        (FOLDER defaults to release/VERSION)
#   ARCHITECTURES='amd64 arm64'             the architectures of the archives and the image; both by default
#   IMAGES=no                               builds no images
#   HOME_URL=https://HOST/REPOSITORY        the home of the chart; its alerts link to the pages of this version there
#   IMAGE=REGISTRY/annex                    the name of the image in its archives, by default the one that `image: annex:VERSION` in a pod refers to
# The folder then contains: an archive with Node for each architecture, the chart, the manifests, an SBOM, licences of the
# dependencies, release notes, images as OCI archives if mmdebstrap and a builder (buildah or docker buildx) are installed, and SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo 'release: name the version, as hack/release.sh 0.1.0' >&2; exit 1; }
out=$(realpath -m "${2:-release/$version}")
architectures=${ARCHITECTURES:-amd64 arm64}
node=$(< .node-version)
# Checked before anything is built: a release needs all of its architectures.
for architecture in $architectures; do
  [ "$(npm view "node-linux-${architecture/amd64/x64}@$node" version 2> /dev/null)" = "$node" ] ||
    { echo "release: the npm registry has no Node $node for linux/$architecture; node hack/node-version.mjs --update picks one that both architectures have" >&2; exit 1; }
done
helm=$(hack/tools/helm.sh) || { echo 'release: the chart needs helm' >&2; exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rm -rf "$out"
mkdir -p "$out"
# The same input gives identical archives.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}

say() { echo "release: $*"; }

# Unpacks a package of the npm registry, for any architecture:  fetch NAME@VERSION FOLDER
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
  # npm install instead of npm ci, for the reason that the Makefile states.
  (cd "$scratch/app" && npm install --omit=dev --omit=optional --ignore-scripts --no-save --no-audit --no-fund --silent)
  rm -rf "$scratch/app/packages" "$scratch/app/package-lock.json" "$scratch/app/node_modules/@annex" "$scratch/app/node_modules/.bin"
  mv "$scratch/dist" "$scratch/app/dist"
  cp -r data LICENSE NOTICE "$scratch/app/"
  node -e 'const p = JSON.parse(fs.readFileSync(process.argv[1])); p.version = process.argv[2]; delete p.devDependencies; delete p.workspaces; delete p.scripts; fs.writeFileSync(process.argv[1], JSON.stringify(p, null, 2) + "\n")' \
    "$scratch/app/package.json" "$version"
  node hack/licences.mjs "$scratch/app/node_modules" > "$scratch/app/THIRD-PARTY-LICENCES.md"
  cp "$scratch/app/THIRD-PARTY-LICENCES.md" "$out/"
}

# Puts the program for an architecture into $scratch/ARCHITECTURE/lib.
lay_out() {
  local npm=${1/amd64/x64}
  mkdir -p "$scratch/$1"
  cp -r "$scratch/app" "$scratch/$1/lib"
  install -D "$(hack/node.sh "$node" "linux-$npm")" "$scratch/$1/lib/node"
  # The native part of LMDB.
  fetch "@lmdb/lmdb-linux-$npm@$(node -p 'require("./node_modules/lmdb/package.json").version')" "$scratch/$1/lib/node_modules/@lmdb/lmdb-linux-$npm"
}

# Makes a reproducible archive:  pack FOLDER [tar flags] MEMBER…
pack() { tar -C "$1" --sort=name --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "${@:2}"; }

archive() {
  local name="annex-$version-linux-$1"
  say "the archive for linux/$1, with Node $node"
  lay_out "$1"
  mkdir -p "$scratch/$name/bin"
  mv "$scratch/$1/lib" "$scratch/$name/lib"
  cat > "$scratch/$name/bin/annex" <<'START'
#!/bin/sh
# Resolves symbolic links, so that a link to this file can be anywhere on PATH.
lib=$(dirname "$(readlink -f "$0")")/../lib
# Node 24 defaults to a young generation four times as large, which costs up to 140 MB and longer pauses.
export NODE_OPTIONS="--max-semi-space-size=16${NODE_OPTIONS:+ $NODE_OPTIONS}"
exec "$lib/node" --enable-source-maps "$lib/dist/main.js" "$@"
START
  chmod +x "$scratch/$name/bin/annex"
  ln -s annex "$scratch/$name/bin/kubectl-annex"
  # kubectl asks this program for completions of `kubectl annex`.
  printf '#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/annex" __complete "$@"\n' > "$scratch/$name/bin/kubectl_complete-annex"
  chmod +x "$scratch/$name/bin/kubectl_complete-annex"
  cp LICENSE NOTICE README.md CHANGELOG.md "$scratch/$name/"
  pack "$scratch" --owner=0 --group=0 "$name" | gzip -n > "$out/$name.tar.gz"
  mv "$scratch/$name/lib" "$scratch/$1/lib"
  rm -rf "${scratch:?}/$name"
}

chart() {
  say 'the chart and the manifests'
  cp -r charts/annex "$scratch/annex"
  [ -z "${HOME_URL:-}" ] || echo "home: $HOME_URL" >> "$scratch/annex/Chart.yaml"
  "$helm" package "$scratch/annex" --version "$version" --app-version "$version" --destination "$out" > /dev/null
  for name in annex annex-doctor; do
    sed "s/:$(node -p 'require("./package.json").version')\"/:$version\"/; s#app.kubernetes.io/version: \".*\"#app.kubernetes.io/version: \"$version\"#" "manifests/$name.yaml" > "$out/$name.yaml"
  done
}

sbom() {
  say 'the SBOM'
  # Read from the lock file: the installed packages lack the binaries of other platforms.
  SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH node_modules/.bin/cyclonedx-npm --omit dev --package-lock-only --ignore-npm-errors --output-reproducible \
    --output-format JSON --output-file "$out/annex-$version.cdx.json" package.json 2> "$scratch/sbom.log" || { cat "$scratch/sbom.log" >&2; exit 1; }
}

notes() {
  # The section of this version or, if there is none, the unreleased changes.
  awk -v wanted="$version" '/^## /{on = ($2 == wanted || $2 == "Unreleased") && !done; if (on) {done = 1; next}} on' CHANGELOG.md > "$out/NOTES.md"
}

# The image has two layers: a few unpacked Debian packages, and the contents of the archive. It has no shell.
layers() {
  local architecture=$1 to=$2 root=$2/root
  mkdir -p "$root/annex" "$root/usr/local/bin" "$root/var/lib/annex" "$root/etc/ssl/certs"
  mmdebstrap --variant=extract --architectures="$architecture" --include=base-files,ca-certificates,libc6,libgcc-s1,libstdc++6,netbase,tzdata \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    bookworm - | tar --delete --wildcards './dev/*' './etc/apt*' './etc/hostname' './etc/resolv.conf' './var/lib/apt*' > "$to/base.tar"
  tar xOf "$to/base.tar" --wildcards './usr/share/ca-certificates/mozilla/*.crt' > "$root/etc/ssl/certs/ca-certificates.crt"
  cp -r "$scratch/$architecture/lib/." "$root/annex/"
  mv "$root/annex/node" "$root/usr/local/bin/node"
  printf '#!/usr/local/bin/node --enable-source-maps\nimport("/annex/dist/main.js");\n' > "$root/usr/local/bin/annex"
  chmod 755 "$root/usr/local/bin/annex"
  ln -s annex "$root/usr/local/bin/kubectl-annex"
  printf 'root:x:0:0:root:/root:/sbin/nologin\nannex:x:65532:65532:Annex:/var/lib/annex:/sbin/nologin\n' > "$root/etc/passwd"
  printf 'root:x:0:\nannex:x:65532:\n' > "$root/etc/group"
  pack "$root" --owner=0 --group=0 annex etc usr > "$to/annex.tar"
  # The folder of the embedded store if no volume is mounted.
  pack "$root" --owner=65532 --group=65532 --mode=0700 var/lib/annex > "$to/data.tar"
  rm -rf "$root"
}

image() {
  local name="${IMAGE:-docker.io/library/annex}:$version"
  local architecture=$1 file="$out/annex-$version-image-linux-$1.tar" log="$scratch/image-$1.log" folder="$scratch/image-$1"
  local skipped="skipped: the image for linux/$1" tags=(--file hack/release.Dockerfile --platform "linux/$1" --label "org.opencontainers.image.version=$version" --tag "$name")
  command -v mmdebstrap > /dev/null || { say "$skipped: there is no mmdebstrap"; return; }
  say "the image for linux/$architecture"
  mkdir "$folder"
  layers "$architecture" "$folder" 2> "$log" || { say "$skipped: $(grep '^E:' "$log" | tail -1)"; return; }
  if docker buildx version > /dev/null 2>&1 && docker info > /dev/null 2>&1; then
    docker buildx build "${tags[@]}" --output "type=oci,dest=$file" "$folder" > "$log" 2>&1 && return
  elif command -v buildah > /dev/null; then
    buildah build "${tags[@]}" --timestamp "$SOURCE_DATE_EPOCH" "$folder" > "$log" 2>&1 && buildah push "$name" "oci-archive:$file:$name" >> "$log" 2>&1 && return
  else
    say "$skipped: there is no docker buildx with a daemon, and no buildah"
    return
  fi
  rm -f "$file"
  say "$skipped: $(tail -1 "$log")"
}

stage
for architecture in $architectures; do archive "$architecture"; done
chart
sbom
notes
if [ "${IMAGES:-}" != no ]; then for architecture in $architectures; do image "$architecture"; done; fi
(cd "$out" && sha256sum -- * > "$scratch/sums" && mv "$scratch/sums" SHA256SUMS)
say "$(find "$out" -maxdepth 1 -type f | wc -l) files in $out"
