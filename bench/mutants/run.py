"""Does a test notice when the code is wrong? A random sample of cargo-mutants' mutants, in one build.

    python bench/mutants/run.py --tree target/mutants/tree --sample 600 --seed 1 --out target/mutants

Lists the mutants of the modules below, draws a sample, writes it into a copy of the sources as switches
(switches.py), builds the tests once, and runs them for each mutant until one fails: the unit tests of the
mutant's module, then quick tests in groups of a second, then slow ones one by one; what caught most per second
goes first. Tests that do not come to a mutant when nothing is changed are not run for it. A test that takes far more processor time than without the mutant counts as failed; the same tests
are then run without it, and must stay within that time, so that a busy machine catches nothing. Outcomes are kept
as they come, with how each was caught: a test that failed, a crash, or time alone (outcomes.json; --resume goes
on). Mutants that no test notices are the result: survivors.txt.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from switches import MODULE, File, Mutant

ROOT = pathlib.Path(__file__).parents[2]
CORE = [f"crates/properloss/src/{part}/**" for part in ("chain", "link", "loss")]
DATA = [f"crates/properloss-data/src/{part}" for part in (
    "model_file/**", "table/**", "stream/**",
    "{read,libsvm,idx,source,memory,encoder,fit_encoder,labels,sparse_columns,checkpoint,atomic}.rs",
)]
#: The tests that concern those modules, with the unit tests and `battery`; the others do not run here.
TESTS = {
    "properloss": [
        "averaged", "bad_input", "chain_brute_force", "chain_clarabel", "chain_edge", "chain_long",
        "chain_metamorphic", "chain_scaling", "proper_calibrator", "reference", "simplify", "smooth_link",
        "special", "stable_divergence", "train", "vector_battery",
    ],
    "properloss-data": [
        "checkpoints", "class_model_files", "csv_files", "encoding", "frames", "groups", "memory_limits",
        "model_files", "outputs", "parquet_files", "pipes", "read_faults", "sparse_and_images", "stream",
    ],
}
#: Those that cannot be part of one program with the others.
EXTRA = {"properloss": ["--test", "battery"]}
#: What the outcome of a group is called where the processor time ran out, and where nothing ended on the clock.
OUT_OF_TIME = "out of time"
ENDLESS = "does not end"
#: Tests below this many seconds of the processor run together, in groups of about GROUP seconds.
QUICK = 0.25
GROUP = 1.0


def listed() -> list[dict]:
    globs = [word for pattern in CORE + DATA for word in ("-f", pattern)]
    out = subprocess.run(["cargo", "mutants", "--list", "--json", "--no-config", *globs], cwd=ROOT,
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def copy(tree: pathlib.Path) -> None:
    """The sources as they are now, over an earlier copy; its build stays."""
    tree.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def write_new(path: pathlib.Path, text: str) -> None:
    """A file that stays as it is is not built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write(tree: pathlib.Path, mutants: list[Mutant], dropped: set[int]) -> list[Mutant]:
    """The switches but those dropped; gives back those that cannot be one."""
    left_out = []
    # A file whose mutants are all dropped is written too, as it is.
    by_file: dict[str, list[Mutant]] = {mutant.file: [] for mutant in mutants}
    for mutant in mutants:
        mutant.places = []
        if mutant.number not in dropped:
            by_file[mutant.file].append(mutant)
    for name, inside in by_file.items():
        file = File(ROOT / name, inside)
        text = file.written()
        left_out += file.left_out
        for mutant in inside:
            mark = mutant.test.encode()
            mutant.places = [found.start() for found in re.finditer(re.escape(mark), text.encode())]
        write_new(tree / name, text)
    for package, names in TESTS.items():
        # One program of all tests links once.
        modules = "".join(f'#[path = "{name}.rs"]\nmod {name};\n' for name in names)
        write_new(tree / "crates" / package / "tests" / "together.rs", "#![allow(dead_code)]\n" + modules)
        library = tree / "crates" / package / "src" / "lib.rs"
        text = (ROOT / "crates" / package / "src" / "lib.rs").read_text()
        write_new(library, text + MODULE)
    return left_out


def build(tree: pathlib.Path, package: str) -> list[dict]:
    """What the compiler says of the tests of a package."""
    tests = ["-p", package, "--lib", "--test", "together", *EXTRA.get(package, [])]
    # Quick to build: the tests are short.
    quick = ["profile.dev.package.properloss.opt-level=1", "profile.dev.debug=false"]
    tests += [word for setting in quick for word in ("--config", setting)]
    command = ["cargo", "test", "--no-run", "--offline", "--message-format", "json", *tests]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 and not errors_of(messages):
        sys.exit(f"cargo: status {done.returncode}\n{done.stderr[-2000:]}")
    return messages


def errors_of(messages: list[dict]) -> list[dict]:
    said = [m["message"] for m in messages if m["reason"] == "compiler-message"]
    return [message for message in said if message["level"] == "error"]


def wrong(tree: pathlib.Path, messages: list[dict], mutants: list[Mutant]) -> list[Mutant]:
    """The mutants whose switches the compiler complains of: the innermost around each complaint."""
    found: dict[int, Mutant] = {}
    errors = errors_of(messages)
    for error in errors:
        for span in error["spans"]:
            inside = [m for m in mutants if m.file == span["file_name"]]
            if not span["is_primary"] or not inside:
                continue
            near = [(abs(place - span["byte_start"]), m) for m in inside for place in m.places]
            if near:
                mutant = min(near, key=lambda pair: pair[0])[1]
                found[mutant.number] = mutant
    if errors and not found:
        sys.exit("does not compile, and no switch is near:\n" + "\n".join(e["rendered"] for e in errors[:3]))
    return list(found.values())


def run(binary: str, folder: pathlib.Path, words: list[str], number: int, seconds: float,
        reached: pathlib.Path | None = None) -> tuple[bool, float, str]:
    """Whether the tests pass, the processor time, the first that failed; `reached` gets the switches they come to."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A failure is enough: no shrinking, no trace.
    environment = {**os.environ, "MUTANT": str(number), "RAYON_NUM_THREADS": "1", "RUST_BACKTRACE": "0",
                   "PROPTEST_FAILURE_PERSISTENCE": "off", "PROPTEST_MAX_SHRINK_ITERS": "0",
                   "CARGO_MANIFEST_DIR": str(folder)}
    if reached:
        environment["REACHED"] = str(reached)
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "--test-threads", "1", *words]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limits,
                              timeout=60 + 20 * seconds)
    except subprocess.TimeoutExpired:
        return False, seconds, ENDLESS
    failed = re.findall(r"^test (\S+).*FAILED$", done.stdout, re.M)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and not failed:
        failed = [OUT_OF_TIME]
    return done.returncode == 0, took, (failed or [f"status {done.returncode}"])[0]


@dataclasses.dataclass
class Group:
    """Tests of one program that run together."""

    binary: str
    #: The tests, and the processor seconds of each without a mutant.
    tests: dict[str, float]
    #: Mutants caught so far.
    caught: int = 0

    def seconds(self) -> float:
        return sum(self.tests.values())

    def worth(self) -> float:
        return (self.caught + 0.2) / (self.seconds() + 0.05)


class Suite:
    """The tests of a package, with what each takes."""

    def __init__(self, package: str, binaries: list[str], folder: pathlib.Path):
        self.folder = folder
        self.groups: list[Group] = []
        #: Unit tests by their module.
        self.units: dict[str, Group] = {}
        #: The mutants that a test comes to.
        self.reached: dict[tuple[str, str], set[int]] = {}
        record = folder / "reached.txt"
        for binary in binaries:
            names = subprocess.run([binary, "--list", "--format", "terse"], capture_output=True, text=True).stdout
            names = [line.removesuffix(": test") for line in names.splitlines() if line.endswith(": test")]
            library = pathlib.Path(binary).name.startswith(package.replace("-", "_") + "-")
            open_group = Group(binary, {})
            for name in names:
                record.unlink(missing_ok=True)
                passed, took, _ = run(binary, folder, ["--exact", name], 0, 600, record)
                numbers = record.read_text().split() if record.exists() else []
                self.reached[binary, name] = {int(number) for number in numbers}
                if not passed:
                    print(f"left out, fails without a mutant: {package} {name}", flush=True)
                    continue
                if took >= QUICK:
                    self.groups.append(Group(binary, {name: took}))
                    continue
                if library:
                    unit = self.units.setdefault(name.split("::tests::")[0], Group(binary, {}))
                    unit.tests[name] = took
                open_group.tests[name] = took
                if open_group.seconds() >= GROUP:
                    self.groups.append(open_group)
                    open_group = Group(binary, {})
            if open_group.tests:
                self.groups.append(open_group)
        tests = sum(len(group.tests) for group in self.groups)
        if tests == 0:
            sys.exit(f"{package}: no test to run")
        seconds = sum(group.seconds() for group in self.groups)
        print(f"{package}: {tests} tests, {seconds:.1f} s of the processor", flush=True)

    def catches(self, mutant: Mutant) -> tuple[str | None, str | None]:
        """The test that fails, and how: a test, a crash, or time alone; or nothing."""
        module = mutant.file.split("/src/")[1].removesuffix(".rs").removesuffix("/mod").replace("/", "::")
        units = [self.units[module]] if module in self.units else []
        for group in units + sorted(self.groups, key=Group.worth, reverse=True):
            names = [name for name in group.tests if mutant.number in self.reached[group.binary, name]]
            if not names:
                continue
            limit = 3 + 5 * sum(group.tests[name] for name in names)
            passed, _, failed = run(group.binary, self.folder, ["--exact", *names], mutant.number, limit)
            if passed:
                continue
            how = "test"
            if failed in (OUT_OF_TIME, ENDLESS):
                how = "time"
                if not run(group.binary, self.folder, ["--exact", *names], 0, limit)[0]:
                    print(f"slow without a mutant: {names[0]}", flush=True)
                    continue
            elif failed.startswith("status "):
                how = "crash"
            group.caught += 1
            return failed if failed in names else f"{', '.join(names[:3])} ({failed})", how
        return None, None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", default="target/mutants/tree")
    parser.add_argument("--out", default="target/mutants")
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--packages", nargs="*", help="of these alone")
    parser.add_argument("--only", help="run again those of an earlier outcomes.json that were not caught")
    parser.add_argument("--resume", action="store_true", help="go on with the outcomes.json of --out")
    options = parser.parse_args()
    tree, out = (ROOT / options.tree).resolve(), (ROOT / options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    everything = listed()
    if options.only:
        kept = {o["name"] for o in json.loads(pathlib.Path(options.only).read_text()) if not o["caught"]}
        chosen = [m for m in everything if m["name"] in kept]
    else:
        chosen = random.Random(options.seed).sample(everything, min(options.sample, len(everything)))
    mutants = [Mutant(n + 1, m["name"], m["file"], m["package"], m["genre"], m["replacement"], m["span"])
               for n, m in enumerate(chosen)]
    packages = options.packages or list(TESTS)
    mutants = [m for m in mutants if m.package in packages]
    print(f"{len(everything)} mutants, {len(mutants)} drawn with seed {options.seed}", flush=True)
    copy(tree)
    dropped = {m.number for m in write(tree, mutants, set())}
    suites = {}
    for package in packages:
        while True:
            viable = [m for m in mutants if m.number not in dropped]
            write(tree, mutants, dropped)
            built = build(tree, package)
            bad = wrong(tree, built, viable)
            if not bad:
                break
            dropped |= {m.number for m in bad}
            print(f"{len(dropped)} do not compile as a switch", flush=True)
        binaries = [m["executable"] for m in built if m["reason"] == "compiler-artifact" and m.get("executable")
                    and m["profile"]["test"] and pathlib.Path(m["manifest_path"]).parent.name == package]
        print(f"{package}: built", flush=True)
        suites[package] = Suite(package, binaries, tree / "crates" / package)
    record = out / "outcomes.json"
    names = {m.name for m in viable}
    outcomes = [o for o in json.loads(record.read_text()) if o["name"] in names] if options.resume else []
    known = {o["name"] for o in outcomes}
    start = time.perf_counter()

    def outcome(mutant: Mutant) -> dict:
        suite = suites[mutant.package]
        caught, how = suite.catches(mutant)
        reached = any(mutant.number in numbers for numbers in suite.reached.values())
        return {"name": mutant.name, "caught": caught, "how": how, "reached": reached}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(outcome, [m for m in viable if m.name not in known]):
            outcomes.append(result)
            record.with_suffix(".new").write_text(json.dumps(outcomes, indent=1))
            record.with_suffix(".new").rename(record)
            if not result["caught"]:
                print("not caught:", result["name"], flush=True)
            if len(outcomes) % 25 == 0:
                caught = sum(bool(o["caught"]) for o in outcomes)
                seconds = time.perf_counter() - start
                print(f"{len(outcomes)} of {len(viable)}: {caught} caught, {seconds:.0f} s", flush=True)
    missed = [o["name"] for o in outcomes if not o["caught"]]
    (out / "survivors.txt").write_text("".join(name + "\n" for name in missed))
    share = 1 - len(missed) / max(1, len(outcomes))
    print(f"{len(outcomes)} run, {len(dropped)} left out, {len(missed)} not caught: {100 * share:.1f} % caught")
    for package in packages:
        those = [o for o in outcomes if o["name"].startswith(f"crates/{package}/")]
        caught = [o for o in those if o["caught"]]
        by_time = sum(o["how"] == "time" for o in caught)
        crashed = sum(o["how"] == "crash" for o in caught)
        never = sum(not o["reached"] for o in those)
        print(f"{package}: {len(caught)} of {len(those)} caught ({by_time} by time alone, {crashed} by a crash); "
              f"no test comes to {never}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
