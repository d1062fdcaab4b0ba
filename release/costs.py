"""What each dependency costs: processor seconds of a cold build, bytes in the program (`make dependency-costs`).

    python release/costs.py               builds below target/costs and prints the tables of docs/dependencies.md

The build runs with this file as the wrapper of rustc and of the C compiler: each of their processes
adds its processor time to the crate that it compiles for. A direct dependency is charged with the crates
that would go away with it, those that nothing else brings. Bytes are the symbols of the linked program.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import sbom

ROOT = pathlib.Path(__file__).parents[1]
TARGET = ROOT / "target" / "costs"
LOG = TARGET / "seconds.log"
OURS = ("properloss", "properloss-data", "properloss-report", "properloss-cli")
#: Code in C and assembler, by the first letters of its symbols.
FOREIGN = {"zstd-sys": r"_?(ZSTD|HUF|FSE|HIST|XXH|ZBUFF|COVER|ZDICT|POOL|divsuf|ERR_)", "ring": r"_?(ring_core|aes_|bn_|ChaCha|GFp|x25519|sha\d)"}


def wrapped(command: list[str]) -> None:
    """As rustc or cc: runs it and notes whose seconds they were."""
    done = subprocess.run(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    crate = os.environ.get("CARGO_PKG_NAME")
    if crate:
        with open(os.environ["PROPERLOSS_COSTS"], "a") as log:
            log.write(f"{crate} {used.ru_utime + used.ru_stime:.3f}\n")
    sys.exit(done.returncode)


def build() -> dict[str, float]:
    """Processor seconds of every crate in a cold build."""
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    wrapper = TARGET / "wrapper"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} wrapped "$@"\n')
    compiler = TARGET / "cc"
    compiler.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} wrapped {shutil.which("cc")} "$@"\n')
    for script in (wrapper, compiler):
        script.chmod(0o755)
    environment = {
        **os.environ,
        "RUSTC_WRAPPER": str(wrapper),
        "CC": str(compiler),
        "PROPERLOSS_COSTS": str(LOG),
        "CARGO_TARGET_DIR": str(TARGET),
    }
    command = ["cargo", "build", "--locked", "--quiet", "--profile", "quick", "-p", "properloss-cli"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    seconds: dict[str, float] = collections.defaultdict(float)
    for line in LOG.read_text().splitlines():
        crate, used = line.split()
        seconds[crate] += float(used)
    return seconds


def sizes(program: pathlib.Path) -> dict[str, int]:
    """Bytes of the program's symbols by crate."""
    crates: dict[str, int] = collections.defaultdict(int)
    listed = subprocess.run(["nm", "-S", "-C", program], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split(maxsplit=3)
        if len(words) != 4 or words[2].lower() not in "tdrbw":
            continue
        crates[owner(words[3])] += int(words[1], 16)
    return crates


def owner(symbol: str) -> str:
    for crate, start in FOREIGN.items():
        if re.match(start, symbol):
            return crate
    # `<properloss::x as core::y>::z`: the type's crate has written it.
    found = re.match(r"[<&*\[(]*(?:dyn |mut )*([a-z_0-9]+)(?:\[[0-9a-f]+\])?::", symbol)
    return found[1].replace("_", "-") if found else "other"


def exclusive(graph: dict, root: str, names: dict[str, str]) -> dict[str, set[str]]:
    """Of every direct dependency of our crates: the crates that go away with it."""
    needed = sbom.used(graph, root)
    ours = {id for id in needed if names[id] in OURS}
    direct = {other for id in ours for other in needed[id]} - ours

    answer = {}
    for dependency in direct:
        kept = reached_with_cut(needed, root, ours, dependency)
        answer[names[dependency]] = {names[id] for id in set(needed) - kept}
    return answer


def reached_with_cut(needed: dict[str, list[str]], root: str, ours: set[str], cut: str) -> set[str]:
    """What is still needed when our crates no longer ask for `cut`."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting += [other for other in needed[id] if not (id in ours and other == cut)]
    return found


def main() -> None:
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"host: (\S+)", host)[1]
    graph = sbom.metadata(host)
    names = {package["id"]: package["name"] for package in graph["packages"]}
    root = next(id for id, name in names.items() if name == "properloss-cli")
    seconds = build()
    size = sizes(TARGET / "quick" / "properloss")
    print(f"all: {sum(seconds.values()):.0f} s, {sum(size.values()) / 1e6:.1f} MB of symbols\n")
    print("| dependency | seconds | of them alone | kB | crates that it alone brings |\n|---|---|---|---|---|")
    rows = []
    for name, crates in exclusive(graph, root, names).items():
        whole = sum(seconds.get(crate, 0.0) for crate in crates)
        kilobytes = sum(size.get(crate, 0) for crate in crates) / 1e3
        rows.append((whole, f"| `{name}` | {whole:.1f} | {seconds.get(name, 0.0):.1f} | {kilobytes:.0f} | {len(crates)} |"))
    for crate in OURS:
        whole = seconds.get(crate, 0.0)
        rows.append((whole, f"| *{crate}* | {whole:.1f} | {whole:.1f} | {size.get(crate, 0) / 1e3:.0f} | |"))
    for _, row in sorted(rows, reverse=True):
        print(row)
    rest = {crate: bytes for crate, bytes in size.items() if crate in ("core", "std", "alloc", "other")}
    print("\nRust's library and the rest:", json.dumps(rest))
    shutil.copy(LOG, ROOT / "target" / "costs.log")
    shutil.rmtree(TARGET)


if __name__ == "__main__":
    if sys.argv[1:2] == ["wrapped"]:
        wrapped(sys.argv[2:])
    main()
