"""Installs what `make dist` made where nothing else is installed, and uses it (`make test-dist`).

Each check is independent of the checkout: wheels in empty environments (newest and oldest supported
numpy and scikit-learn, every Python from 3.11 that is found), the source distribution built by pip, a
small crate against the packaged crates, the program of the archive. Metadata is checked by twine, the
wheels' symbols by auditwheel, the upload of the crates by `cargo publish --dry-run`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

import version

ROOT = pathlib.Path(__file__).parents[1]
DIST = ROOT / "target" / "dist"
WORK = ROOT / "target" / "test-dist"
NEWEST_TRIED = 16
#: The binaries of the wheels and archives may ask for no newer glibc.
GLIBC = (2, 17)

SMOKE = """
import importlib.metadata, sys
import numpy as np, sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
import properloss as pl

assert "site-packages" in pl.__file__, pl.__file__
assert pl.__version__ == importlib.metadata.version("properloss") == sys.argv[1]
X, y = load_breast_cancer(return_X_y=True)
train = np.arange(len(y)) % 2 == 0
clf = pl.ProperLossClassifier().fit(X[train], y[train])
p = clf.predict_proba(X[~train])
loss = log_loss(y[~train], p)
# On these halves scikit-learn's LogisticRegressionCV of scaled columns has 0.146, the base rate 0.66.
assert loss < 0.2, loss
clf.save("model.json")
assert np.array_equal(pl.load("model.json").predict_proba(X[~train]), p)
tron = pl.BregmanTronClassifier().fit(X[train], y[train])
assert tron.loss_.partial_loss(1, [0.1])[0] > tron.loss_.partial_loss(1, [0.9])[0] >= 0
page = clf.report(X[~train], y[~train], "report.html")
assert open("report.html").read().startswith("<!")
print(f"properloss {pl.__version__}, Python {sys.version.split()[0]}, numpy {np.__version__}, "
      f"scikit-learn {sklearn.__version__}: log-loss {loss:.4f}")
"""


def run(*command: object, cwd: pathlib.Path = ROOT, quiet: bool = False, **environment: str) -> str:
    """Runs a command and gives its output; stops with all of it if it fails."""
    words = [str(word) for word in command]
    print("+", *(word if len(word) < 100 else "..." for word in words), flush=True)
    tools = str(pathlib.Path(sys.executable).parent)
    paths = f"{tools}{os.pathsep}{os.environ['PATH']}"
    # Not the checkout's packages, and not the caller's environment.
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(words, cwd=cwd, text=True, capture_output=True, env={**kept, "PATH": paths, **environment})
    if done.returncode:
        sys.exit(f"failed ({done.returncode}): {' '.join(words)}\n{done.stdout}\n{done.stderr}")
    if not quiet and done.stdout.strip():
        print(done.stdout.rstrip())
    return done.stdout


def pythons() -> dict[str, str]:
    """Every CPython from 3.11 on the path or among pyenv's, by its version."""
    found: dict[str, str] = {}
    places = [f"python3.{minor}" for minor in range(11, NEWEST_TRIED)] + ["python3"]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    places += sorted(str(path) for path in pyenv.glob("3.*/bin/python"))
    ask = "import sys, platform; print(platform.python_implementation(), '%d.%d' % sys.version_info[:2], sys.executable)"
    for place in places:
        try:
            done = subprocess.run([place, "-c", ask], capture_output=True, text=True)
        except FileNotFoundError:
            continue
        words = done.stdout.split()
        if done.returncode == 0 and words[0] == "CPython" and int(words[1].split(".")[1]) >= 11:
            found.setdefault(words[1], words[2])
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


def environment(name: str, python: str) -> pathlib.Path:
    """An empty environment; its python."""
    folder = WORK / name
    run(python, "-m", "venv", "--clear", folder)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: pathlib.Path, *what: object) -> None:
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what, quiet=True)


def smoke(python: pathlib.Path, number: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-c", SMOKE, number, cwd=pathlib.Path(folder))


def lowest() -> list[str]:
    """The lowest versions that pyproject.toml promises, with the other pins of requirements-oldest.txt."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {
        re.split(r">=", line)[0]: tuple(re.split(r">=", line)[1].split("."))
        for line in project["dependencies"]
    }
    pins = {}
    for line in (ROOT / "python" / "requirements-oldest.txt").read_text().splitlines():
        name, _, pin = line.partition("==")
        if pin:
            pins[name] = pin
    for name, least in promised.items():
        if tuple(pins[name].split(".")[: len(least)]) != least:
            sys.exit(f"requirements-oldest.txt has {name} {pins[name]}; pyproject.toml promises {'.'.join(least)}")
    return [f"{name}=={pins[name]}" for name in promised]


def checksums() -> None:
    lines = (DIST / "SHA256SUMS").read_text().splitlines()
    for line in lines:
        digest, name = line.split("  ")
        if hashlib.sha256((DIST / name).read_bytes()).hexdigest() != digest:
            sys.exit(f"{name}: not the checksum of SHA256SUMS")
    files = {path.relative_to(DIST).as_posix() for path in DIST.rglob("*") if path.is_file()}
    missing = files - {line.split("  ")[1] for line in lines} - {"SHA256SUMS"}
    if missing:
        sys.exit(f"not in SHA256SUMS: {sorted(missing)}")
    print(f"{len(lines)} checksums are right")


def newest_glibc(content: bytes) -> tuple[int, ...]:
    """The newest `GLIBC_x.y` that a binary names."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", content)
    return max((tuple(map(int, pair)) for pair in found), default=(0, 0))


def wheels() -> list[pathlib.Path]:
    """Metadata by twine, glibc by auditwheel and by the symbols themselves, what is inside."""
    python = sorted((DIST / "python").iterdir())
    run("twine", "check", "--strict", *python)
    found = [path for path in python if path.suffix == ".whl"]
    for wheel in found:
        said = run("auditwheel", "show", wheel, quiet=True)
        tag = re.search(r'consistent with the following platform tag:\s+"(\w+)"', " ".join(said.split()))
        if not tag or not re.match(r"manylinux_2_(\d+)_", tag[1]) or int(tag[1].split("_")[2]) > GLIBC[1]:
            sys.exit(f"{wheel.name}: auditwheel says\n{said}")
        with zipfile.ZipFile(wheel) as content:
            names = content.namelist()
            [module] = [name for name in names if name.endswith(".so")]
            newest = newest_glibc(content.read(module))
        for needed in ("properloss/py.typed", "properloss/_core.pyi", "licenses/LICENSE", ".cyclonedx.json"):
            if not any(name.endswith(needed) for name in names):
                sys.exit(f"{wheel.name}: no {needed}; it has {names}")
        if newest > GLIBC or "-abi3-" not in wheel.name:
            sys.exit(f"{wheel.name}: {module} needs glibc {newest}")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, auditwheel: {tag[1]}, newest symbol GLIBC_{newest[0]}.{newest[1]}")
    return found


def native(wheel: pathlib.Path) -> bool:
    return wheel.stem.endswith(platform.machine())


def python_packages(number: str) -> None:
    [wheel] = [wheel for wheel in wheels() if native(wheel)]
    versions = pythons()
    print("Pythons found:", ", ".join(versions))
    for name, python in versions.items():
        inside = environment(f"newest-{name}", python)
        install(inside, f"{wheel}")
        smoke(inside, number)
        shutil.rmtree(WORK / f"newest-{name}")
    oldest = min(versions, key=lambda name: int(name.split(".")[1]))
    inside = environment("oldest", versions[oldest])
    install(inside, wheel, *lowest())
    smoke(inside, number)
    shutil.rmtree(WORK / "oldest")
    # pip builds it in an environment of its own, with the maturin that pyproject.toml asks for.
    [source] = (DIST / "python").glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = archive.getnames()
        for needed in ("LICENSE", "PKG-INFO", "Cargo.lock", "python/README.md"):
            if f"properloss-{number}/{needed}" not in names:
                sys.exit(f"{source.name}: no {needed}")
    inside = environment("source", versions[oldest])
    install(inside, source)
    smoke(inside, number)
    shutil.rmtree(WORK / "source")


def crates(number: str) -> None:
    """The packaged crates: licence and README inside; the README's program builds against them."""
    folder = WORK / "crates"
    shutil.rmtree(folder, ignore_errors=True)
    licence = (ROOT / "LICENSE").read_bytes()
    names = []
    for crate in sorted((DIST / "crates").iterdir()):
        with tarfile.open(crate) as archive:
            archive.extractall(folder, filter="data")
        inside = folder / crate.name.removesuffix(".crate")
        if (inside / "LICENSE").read_bytes() != licence or not (inside / "README.md").is_file():
            sys.exit(f"{crate.name}: LICENSE or README.md is missing")
        names.append(inside.name.removesuffix(f"-{number}"))
    readme = (folder / f"properloss-{number}" / "README.md").read_text()
    tiny = folder / "tiny"
    (tiny / "src").mkdir(parents=True)
    (tiny / "src" / "main.rs").write_text(readme.split("```rust\n")[1].split("```")[0])
    patch = "".join(f'{name} = {{ path = "../{name}-{number}" }}\n' for name in names)
    (tiny / "Cargo.toml").write_text(
        f'[package]\nname = "tiny"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n'
        f'[dependencies]\nproperloss = "{number}"\nproperloss-data = {{ version = "{number}", default-features = false }}\n\n'
        f"[patch.crates-io]\n{patch}"
    )
    shutil.copy(ROOT / "Cargo.lock", tiny)
    # One target folder for both, without debug information: that is most of its size.
    light = {"CARGO_TARGET_DIR": str(WORK / "cargo-target"), "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
    said = run("cargo", "run", "--quiet", cwd=tiny, **light)
    if not re.fullmatch(r"\[0\.\d+, 0\.\d+\]", said.strip()):
        sys.exit(f"the README's program said {said}")
    # Compiles each crate from its package, as an upload would.
    run(
        *("cargo", "publish", "--workspace", "--dry-run", "--locked", "--allow-dirty", "--quiet"),
        **light,
    )
    shutil.rmtree(WORK / "cargo-target")
    print("cargo publish --workspace --dry-run: verified")


def command(number: str) -> None:
    """The program of the archive: size, glibc, version, a fit and a prediction."""
    for archive in sorted((DIST / "command").glob("*.tar.gz")):
        if archive.name.endswith("-debug.tar.gz"):
            continue
        folder = WORK / "command"
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(archive) as content:
            content.extractall(folder, filter="data")
        inside = folder / archive.name.removesuffix(".tar.gz")
        program = inside / "properloss"
        size, newest = program.stat().st_size, newest_glibc(program.read_bytes())
        print(f"{archive.name}: {archive.stat().st_size:,} bytes; the program {size:,}, newest symbol GLIBC_{newest[0]}.{newest[1]}")
        if size >= 10_000_000 or newest > GLIBC:
            sys.exit("the program is 10 MB or more, or needs a newer glibc")
        for needed in ("LICENSE", "README.md", "man/properloss-fit.1", *(f"completions/properloss.{s}" for s in ("bash", "zsh", "fish"))):
            if not (inside / needed).stat().st_size:
                sys.exit(f"{archive.name}: {needed} is empty")
        if platform.machine() not in archive.name:
            print("(not run: of another machine)")
            continue
        said = run(program, "--version", "--verbose")
        if f"properloss {number}\n" not in said or "commit: unknown" in said or "download, parquet" not in said:
            sys.exit("--version --verbose does not say what was built")
        run(program, "--quiet", "synth", "single-index", "--rows", 500, "-o", "rows.csv", cwd=folder)
        run(program, "--quiet", "fit", "rows.csv", "-o", "model.json", cwd=folder)
        rows = run(program, "predict", "model.json", "rows.csv", cwd=folder, quiet=True).splitlines()
        if len(rows) != 501 or not all(0 < float(row) < 1 for row in rows[1:]):
            sys.exit(f"predict gave {len(rows)} lines, {rows[:3]}")


def bills() -> None:
    for path in DIST.glob("*.cdx.json"):
        bill = json.loads(path.read_text())
        known = {entry["bom-ref"] for entry in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
        asked = {other for entry in bill["dependencies"] for other in entry["dependsOn"]}
        if bill["bomFormat"] != "CycloneDX" or not asked <= known:
            sys.exit(f"{path.name}: {asked - known} is asked for and not listed")
        if not all("licenses" in entry for entry in bill["components"]):
            sys.exit(f"{path.name}: a component without licence")
        print(f"{path.name}: {len(bill['components'])} crates, each with its licence")


CHECKS = {
    "checksums": lambda number: checksums(),
    "bills": lambda number: bills(),
    "command": command,
    "python": python_packages,
    "crates": crates,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checks", nargs="*", help=f"which ones [default: all of {', '.join(CHECKS)}]")
    chosen = parser.parse_args().checks or list(CHECKS)
    if not (DIST / "SHA256SUMS").is_file():
        sys.exit("target/dist/ is not there or not whole: run `make dist` first")
    WORK.mkdir(parents=True, exist_ok=True)
    number = version.read()
    for check in chosen:
        print(f"\n== {check}", flush=True)
        CHECKS[check](number)
    shutil.rmtree(WORK)
    print("\nall of it works")


if __name__ == "__main__":
    main()
