#!/usr/bin/env bash
# Prints the folders that ESLint takes in one run, joined by commas, a line a run: together they are src, packages and test.
set -euo pipefail
cd "$(dirname "$0")/.."
alone=(src/registry src/endpoints src/authorization src/storage src/schema src/apimachinery)
rest=(src/main.ts)
for folder in src/*/; do
  folder=${folder%/}
  case " ${alone[*]} " in *" $folder "*) ;; *) rest+=("$folder") ;; esac
done
for folder in "${alone[@]}"; do if [ -d "$folder" ]; then echo "$folder"; fi; done
(IFS=,; echo "${rest[*]}")
echo packages
echo test
