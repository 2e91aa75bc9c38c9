#!/usr/bin/env bash
# Commits only the paths given, one committer at a time:  hack/commit.sh "scope: message" path...
set -euo pipefail
message=$1; shift
cd "$(git rev-parse --show-toplevel)"
exec 9> "$(git rev-parse --git-dir)/annex-commit.lock"
flock 9
git add -A -- "$@"
git commit -q -m "$message" -- "$@"
git log --oneline -1
