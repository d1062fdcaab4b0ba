#!/usr/bin/env bash
# The report page in a real browser. Installs what is missing and says so; where it cannot be had the
# tests are skipped with a sentence, and fail if CI=true.
set -euo pipefail
python=$1
folder=target/browser
axe=4.14.0

give_up() {
    if [ "${CI:-}" = true ]; then
        echo "browser tests: $1; with CI=true they are required" >&2
        exit 1
    fi
    echo "browser tests skipped: $1"
    exit 0
}

find_chromium() { command -v chromium || command -v chromium-browser || true; }
chromium=${CHROMIUM:-$(find_chromium)}
if [ -z "$chromium" ]; then
    command -v apt-get >/dev/null || give_up "no chromium, and no apt-get to install it; set CHROMIUM"
    [ "$(id -u)" = 0 ] || give_up "no chromium; install it (apt-get install chromium) or set CHROMIUM"
    echo "installing chromium by apt-get"
    apt-get install -y -qq chromium >"$folder-apt.log" 2>&1 \
        || { apt-get update -qq && apt-get install -y -qq chromium; } >"$folder-apt.log" 2>&1 \
        || give_up "apt-get could not install chromium (see $folder-apt.log)"
    chromium=$(find_chromium)
fi
"$python" -m pip --disable-pip-version-check --quiet install -r python/browser/requirements.txt \
    || give_up "playwright could not be installed"
mkdir -p "$folder"
if [ ! -e "$folder/node_modules/axe-core/axe.min.js" ]; then
    command -v npm >/dev/null || give_up "no npm, which fetches axe-core"
    (cd "$folder" && npm install --silent --no-audit --no-fund "axe-core@$axe") \
        || give_up "npm could not fetch axe-core"
fi
CHROMIUM=$chromium AXE=$folder/node_modules/axe-core/axe.min.js "$python" -m pytest python/browser
