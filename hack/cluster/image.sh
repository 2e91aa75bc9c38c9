#!/usr/bin/env bash
# Makes an image from files of this machine, as an archive that `ctr images import` reads. Without a registry, a daemon or a builder.
#   hack/cluster/image.sh pause|annex|mongod NAME ARCHIVE
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=$1 name=$2 archive=$(realpath -m "$3")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
mkdir -p "$root"/{bin,etc,tmp,var/lib/annex,data}
chmod 1777 "$root/tmp" "$root/data"
printf 'root:x:0:0::/:/bin/false\nannex:x:65532:65532::/var/lib/annex:/bin/false\n' > "$root/etc/passwd"

# A program with the libraries that it is linked with, at the places where it looks for them.
add() {
  install -D "$1" "$root/bin/$(basename "$1")"
  { ldd "$1" 2> /dev/null | grep -o '/[^ ]*' || true; } | sort -u | while read -r library; do
    install -D "$(readlink -f "$library")" "$root$library"
  done
}

case $kind in
  pause)
    tools=$(hack/tools/build.sh pause)
    add "$tools/pause"
    user=65532 entrypoint='["/bin/pause"]'
    ;;
  annex)
    add "$(readlink -f "$(command -v node)")"
    mkdir -p "$root/annex" "$root/usr/local/bin"
    node hack/build.mjs "$root/annex/dist" > /dev/null
    cp -rL data package.json "$root/annex/"
    # What the bundle does not contain, without what only development needs.
    node hack/runtime-dependencies.mjs | while read -r package; do
      mkdir -p "$root/annex/$(dirname "$package")"
      cp -rL "$package" "$root/annex/$(dirname "$package")/"
    done
    printf '#!/bin/node --enable-source-maps\nimport("/annex/dist/main.js");\n' > "$root/usr/local/bin/annex"
    chmod 755 "$root/usr/local/bin/annex"
    user=65532 entrypoint='["/usr/local/bin/annex"]'
    ;;
  mongod)
    add "$(hack/mongod.sh)"
    user=0 entrypoint='["/bin/mongod"]'
    ;;
esac
tar -C "$root" --numeric-owner --owner=0 --group=0 -cf "$scratch/layer.tar" .
digest=$(sha256sum "$scratch/layer.tar" | cut -d' ' -f1)
architecture=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
cat > "$scratch/config.json" << END
{"architecture":"$architecture","os":"linux","config":{"User":"$user","Entrypoint":$entrypoint,"Env":["PATH=/usr/local/bin:/bin","NODE_ENV=production","NODE_OPTIONS=--max-semi-space-size=16"],"WorkingDir":"/"},"rootfs":{"type":"layers","diff_ids":["sha256:$digest"]}}
END
echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$name\"],\"Layers\":[\"layer.tar\"]}]" > "$scratch/manifest.json"
tar -C "$scratch" -cf "$archive" manifest.json config.json layer.tar
