"""Everything a release publishes, below target/dist/ (`make dist`).

    python/   wheels (abi3, manylinux2014) for x86-64 and aarch64, the source distribution
    crates/   the four crates as cargo would upload them
    command/  the program, stripped, with manual pages and completions; its debug information beside it
    *.cdx.json, SHA256SUMS

Every Linux file is linked by zig against glibc 2.17. A target whose Rust library cannot be had is left
out, with a sentence.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import sbom
import version

ROOT = pathlib.Path(__file__).parents[1]
DIST = ROOT / "target" / "dist"
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
CRATES = ["properloss", "properloss-data", "properloss-report", "properloss-cli"]
#: The oldest glibc of the manylinux2014 platform.
GLIBC = "2.17"
ENVIRONMENT = {"PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def run(*command: object, **environment: str) -> None:
    """Runs a command in the project's folder; stops if it fails."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    subprocess.run(words, cwd=ROOT, check=True, env={**os.environ, **ENVIRONMENT, **environment})


def output(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def available(target: str) -> bool:
    """Is Rust's library for the target there, or can it be had?"""
    def there() -> bool:
        return pathlib.Path(output("rustc", "--print", "target-libdir", "--target", target)).is_dir()

    if not there() and shutil.which("rustup"):
        subprocess.run(["rustup", "target", "add", target], cwd=ROOT, stderr=subprocess.DEVNULL)
    if there():
        return True
    print(f"left out: {target}: Rust's library for it is not installed; `rustup target add {target}`")
    return False


def commit() -> tuple[str, int]:
    """The commit that is built, and its time; a changed checkout says so."""
    try:
        name = output("git", "rev-parse", "--short=12", "HEAD")
        changed = output("git", "status", "--porcelain", "--untracked-files=no")
        return name + (" with changes" if changed else ""), int(output("git", "log", "-1", "--format=%ct"))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return "unknown (no git)", 0


def python_packages(targets: list[str], epoch: str) -> None:
    """The source distribution and one abi3 wheel a target."""
    out = DIST / "python"
    run("maturin", "sdist", "--out", out, SOURCE_DATE_EPOCH=epoch)
    for target in targets:
        run(
            *("maturin", "build", "--locked", "--profile", "published", "--zig", "--compatibility", "manylinux2014"),
            *("--target", target, "--out", out),
            SOURCE_DATE_EPOCH=epoch,
        )


def crates(number: str) -> None:
    """The files that `cargo publish` uploads; `make test-dist` builds them."""
    names = [word for crate in CRATES for word in ("-p", crate)]
    run("cargo", "package", "--locked", "--no-verify", "--allow-dirty", "--quiet", *names)
    (DIST / "crates").mkdir(parents=True)
    for crate in CRATES:
        shutil.copy(ROOT / "target" / "package" / f"{crate}-{number}.crate", DIST / "crates")


def command(target: str, number: str, built_from: str, epoch: int) -> None:
    """The program as an archive, and its debug information as another."""
    run(
        *("cargo-zigbuild", "build", "--locked", "--profile", "published", "-p", "properloss-cli"),
        *("--target", f"{target}.{GLIBC}"),
        PROPERLOSS_COMMIT=built_from,
    )
    name = f"properloss-{number}-{target}"
    folder = DIST / "command" / name
    folder.mkdir(parents=True)
    built = ROOT / "target" / target / "published" / "properloss"
    program, debug = folder / "properloss", folder.parent / "properloss.debug"
    objcopy("--only-keep-debug", built, debug)
    objcopy("--strip-all", f"--add-gnu-debuglink={debug}", built, program)
    for page in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / page, folder)
    shutil.copy(ROOT / "crates" / "properloss-cli" / "README.md", folder)
    spoken = native_program(target, program)
    run(spoken, "--quiet", "manual", "--out", folder / "man")
    (folder / "completions").mkdir()
    for shell in ("bash", "zsh", "fish"):
        (folder / "completions" / f"properloss.{shell}").write_text(output(spoken, "completions", shell) + "\n")
    archive(folder.parent / f"{name}.tar.gz", [folder], epoch)
    archive(folder.parent / f"{name}-debug.tar.gz", [debug], epoch)
    if spoken == program:
        # Kept for the next target, whose program does not run here.
        shutil.copy(program, ROOT / "target" / "dist-native")
    shutil.rmtree(folder)
    debug.unlink()


def native_program(target: str, program: pathlib.Path) -> pathlib.Path:
    """A program that runs on this machine: manual pages are the same for all targets."""
    host = next(line for line in output("rustc", "-vV").splitlines() if line.startswith("host: "))
    return program if target == host.removeprefix("host: ") else ROOT / "target" / "dist-native"


def objcopy(*words: object) -> None:
    """LLVM's, which is part of Rust's compiler and knows every target."""
    root = pathlib.Path(output("rustc", "--print", "sysroot"))
    [tool] = root.glob("lib/rustlib/*/bin/rust-objcopy")
    run(tool, *words, LD_LIBRARY_PATH=str(root / "lib"))


def archive(path: pathlib.Path, members: list[pathlib.Path], epoch: int) -> None:
    """A tar.gz whose bytes depend on the content alone."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for member in members:
            for file in sorted([member, *member.rglob("*")]):
                info = tar.gettarinfo(str(file), str(file.relative_to(member.parent)))
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                info.mtime = epoch
                info.mode = 0o755 if file.is_dir() or os.access(file, os.X_OK) else 0o644
                tar.addfile(info, file.open("rb") if file.is_file() else None)
    with path.open("wb") as out, gzip.GzipFile("", "wb", 9, out, epoch) as packed:
        packed.write(content.getvalue())


def bills(number: str, targets: list[str]) -> None:
    for crate, what in (("properloss-cli", "command"), ("properloss-py", "python")):
        path = DIST / f"properloss-{number}-{what}.cdx.json"
        path.write_text(json.dumps(sbom.bill(crate, targets[0]), indent=1) + "\n")


def checksums() -> None:
    files = sorted(path for path in DIST.rglob("*") if path.is_file())
    lines = []
    for path in files:
        name, size = path.relative_to(DIST).as_posix(), path.stat().st_size
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
        print(f"{size:>12,}  {name}")
    (DIST / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="Rust targets, the machine's own first")
    arguments = parser.parse_args()
    number = version.read()
    built_from, epoch = commit()
    targets = [target for target in arguments.targets if available(target)]
    if not targets:
        sys.exit("no target left")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    crates(number)
    python_packages(targets, str(epoch))
    for target in targets:
        command(target, number, built_from, epoch)
    bills(number, targets)
    checksums()


if __name__ == "__main__":
    main()
