"""The bill of materials of a crate as CycloneDX 1.5: every crate that is compiled into it.

    python release/sbom.py properloss-cli x86_64-unknown-linux-gnu > properloss.cdx.json

The crates, versions, licences and checksums are those of Cargo.lock and of cargo's metadata for the target;
dependencies for tests only are left out. Equal input gives equal bytes: there is no date and no serial
number in it.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).parents[1]


def metadata(target: str) -> dict:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def used(graph: dict, root: str) -> dict[str, list[str]]:
    """Every package below the root, with what it depends on (normal and build dependencies)."""
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    found: dict[str, list[str]] = {}
    waiting = [root]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found[package] = sorted(
            dependency["pkg"]
            for dependency in nodes[package]["deps"]
            if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
        )
        waiting += found[package]
    return found


def component(package: dict, checksums: dict[tuple[str, str], str], kind: str = "library") -> dict:
    entry = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    if package["license"]:
        # Some old crates write `MIT/Apache-2.0`.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def bill(crate: str, target: str) -> dict:
    graph = metadata(target)
    packages = {package["id"]: package for package in graph["packages"]}
    root = next(id for id, package in packages.items() if package["name"] == crate)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {
        (package["name"], package["version"]): package["checksum"]
        for package in lock["package"]
        if "checksum" in package
    }
    needed = used(graph, root)
    order = sorted(needed, key=lambda id: reference(packages[id]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": component(packages[root], checksums, "application"),
            "properties": [{"name": "cargo:target", "value": target}],
        },
        "components": [component(packages[id], checksums) for id in order if id != root],
        "dependencies": [
            {
                "ref": reference(packages[id]),
                "dependsOn": sorted({reference(packages[other]) for other in needed[id]}),
            }
            for id in order
        ],
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: sbom.py CRATE TARGET")
    json.dump(bill(sys.argv[1], sys.argv[2]), sys.stdout, indent=1)
    print()
