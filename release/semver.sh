#!/usr/bin/env bash
# Breaking changes since the last release, against what the version number promises.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! last=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
    echo "no release yet (no tag v*): nothing to compare with"
    exit 0
fi
cargo semver-checks --version >/dev/null 2>&1 || cargo install --locked --quiet cargo-semver-checks
exec cargo semver-checks --baseline-rev "$last" -p properloss -p properloss-data -p properloss-report
