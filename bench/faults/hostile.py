"""Inputs that nobody should write, through every command that reads a file.

    python bench/faults/hostile.py [--program target/release/properloss] [--only WORD] [--seed 1]

Each is run with an older output in place. Whatever the input: the status is 0, 1 or 2; no panic, no more than five
seconds of the processor, no more than MEMORY; a failure is an `error:` and a `hint:`, without a control character
that came from the file; the older output is as it was, or there is a whole new one; no temporary file is left. A model that was
written can be read, and gives a probability for every row it was fitted on. Parquet needs pyarrow, and is left out without it.
"""

import argparse
import json
import math
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import hostile_models
import hostile_tables
from hostile_paths import options, special_files
from hostile_tables import GOOD

#: Bytes resident, the program and its budget of 200 MB for what it reads.
MEMORY = 400 << 20
PRECIOUS = b"an older output\n"
SECONDS = 5


class Runner:
    """Runs commands, and keeps what was wrong."""

    def __init__(self, program, folder, only):
        self.program, self.folder, self.only = program, folder, only
        self.count, self.wrong, self.statuses, self.worst = 0, [], {}, (0, 0)

    def wants(self, name):
        return self.only is None or self.only in name

    def command(self, name, words, out=None, stdin=None):
        """Runs one; gives back its status."""
        words = shlex.split(words) if isinstance(words, str) else words
        self.count += 1
        if out is not None:
            (self.folder / out).write_bytes(PRECIOUS)
        before = set(os.listdir(self.folder))

        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (60, 61))
            # What is found here shall not take the machine with it.
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as shown:
            child = subprocess.Popen([self.program, *words], cwd=self.folder, stdin=stdin or subprocess.DEVNULL,
                                     stdout=shown, stderr=said, preexec_fn=limits,
                                     env={**os.environ, "RAYON_NUM_THREADS": "1", "TMPDIR": str(self.folder)})
            timer = threading.Timer(180, child.kill)
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read().decode(errors="replace")
        status, took = child.returncode, usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss << 10
        self.worst = max(self.worst[0], took), max(self.worst[1], peak)
        self.statuses[status] = self.statuses.get(status, 0) + 1

        def complain(what):
            line = f"{name}: {what}: {' '.join(words)[:150]!r}\n    {text[:300]!r}"
            self.wrong.append(line)
            print(line, flush=True)
        if status not in (0, 1, 2):
            complain(f"status {status}")
        if "panicked" in text:
            complain("a panic")
        if took > SECONDS:
            complain(f"{took:.1f} s of the processor")
        if peak > MEMORY:
            complain(f"{peak >> 20} MB")
        if status in (1, 2) and not (re.search(r"^error:", text, re.M) and "\nhint:" in text):
            # clap names the mistake and the usage.
            if not (status == 2 and text.startswith("error:")):
                complain("no sentence with a hint")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text):
            complain("a control character in what it says")
        if len(text) > 6000:
            complain(f"{len(text)} characters")
        left = set(os.listdir(self.folder)) - before
        if any(entry.endswith(".tmp") for entry in left):
            complain(f"left {left}")
        if out is not None:
            found = (self.folder / out).read_bytes() if (self.folder / out).exists() else None
            if status != 0 and found != PRECIOUS:
                complain("the older output has changed")
            if status == 0 and found in (None, PRECIOUS, b""):
                complain("success, but no new output")
        return status

    def fit(self, name, data, more=""):
        """Fits; the model must be a number for every row."""
        words = ["fit", data, "-o", "out.json", "--quiet", "--memory", "200MB", *split(more)]
        if self.command(name, words, "out.json") != 0:
            return False
        text = (self.folder / "out.json").read_text()
        if re.search(r"\b(NaN|Infinity|inf)\b", re.sub(r'"[^"]*"', '""', text)):
            self.wrong.append(f"{name}: a model with numbers that are none")
        json.loads(text)
        self.command(name, ["inspect", "out.json"])
        if self.predict(name, "out.json", data, more) != 0 and "delimiter" not in more and "missing" not in more:
            self.wrong.append(f"{name}: the model does not predict the rows it was fitted on")
            print(self.wrong[-1])
        return True

    def predict(self, name, model, data, more=""):
        kept = split(more)
        file = [w for i, w in enumerate(kept) if w == "--no-header" or w.startswith("--delimiter")
                or (i and kept[i - 1] == "--delimiter")]
        status = self.command(name, ["predict", model, data, "-o", "p.csv", "--quiet", "--memory", "200MB", *file], "p.csv")
        if status == 0:
            for line in (self.folder / "p.csv").read_text().splitlines()[1:]:
                if not all(0 <= float(word) <= 1 and math.isfinite(float(word)) for word in line.split(",")):
                    self.wrong.append(f"{name}: predicts {line}")
                    print(self.wrong[-1])
                    break
        return status


def split(options):
    """By spaces: quotes are part of what is tried."""
    return [word for word in options.split(" ") if word]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))


def tables(run, folder):
    every = [(name, text, "") for name, text in hostile_tables.tables()]
    for name, text, more in every + list(hostile_tables.tables_with_options()):
        if not run.wants(f"table {name}"):
            continue
        write(folder / "t.csv", text)
        name = f"table {name}"
        run.fit(name, "t.csv", more)
        run.fit(name + " logistic", "t.csv", more + " --method logistic")
        run.predict(name + " by another", "good.json", "t.csv")
        run.command(name, "evaluate good.json t.csv --memory 200MB")
        run.command(name, ["transfer", "loss.json", "t.csv", "-o", "out.json", "--memory", "200MB", *split(more)], "out.json")
        calibrate = f"calibrate t.csv --score a --label y --model out.json -o {os.devnull} --memory 200MB"
        run.command(name, calibrate, "out.json")
        if len(text) < 20_000:
            run.command(name, ["compare", "t.csv", "--methods", "proper,isotonic", "--memory", "200MB", *split(more)])


def sparse(run, folder):
    for name, text in hostile_tables.sparse():
        if run.wants(f"sparse {name}"):
            write(folder / "t.svm", text)
            run.fit(f"sparse {name}", "t.svm")
            run.predict(f"sparse {name}", "sparse.json", "t.svm")
            run.command(f"sparse {name}", "evaluate sparse.json t.svm --memory 200MB")


def packed(run, folder):
    for name, content in hostile_tables.packed():
        if run.wants(f"packed {name}"):
            write(folder / "t.csv.gz", content)
            run.fit(f"packed {name}", "t.csv.gz")
            run.predict(f"packed {name}", "good.json", "t.csv.gz")
            with (folder / "t.csv.gz").open("rb") as stdin:
                run.command(f"packed {name}", "fit - -o out.json --format csv --memory 200MB", "out.json", stdin)


def images(run, folder):
    for name, pixels, labels in hostile_tables.images():
        if run.wants(f"images {name}"):
            write(folder / "t.idx", pixels)
            write(folder / "l.idx", labels)
            more = "--labels-file l.idx --positive 1"
            run.command(f"images {name}", f"fit t.idx -o out.json --memory 200MB {more}", "out.json")
            run.command(f"images {name}", "predict images.json t.idx -o p.csv", "p.csv")


def parquet(run, folder):
    try:
        from hostile_parquet import files
    except ImportError:
        print("no pyarrow: Parquet is left out")
        return
    for name, content in files(folder):
        if run.wants(f"parquet {name}"):
            write(folder / "t.parquet", content)
            run.fit(f"parquet {name}", "t.parquet")
            run.predict(f"parquet {name}", "good.json", "t.parquet")
            run.command(f"parquet {name}", "evaluate good.json t.parquet --memory 200MB")


def models(run, folder, draw):
    def all_of(name, text, data):
        write(folder / "m.json", text)
        run.command(name, "inspect m.json")
        run.command(name, "inspect m.json --plot p.svg", "p.svg")
        run.predict(name, "m.json", data)
        run.command(name, f"evaluate m.json {data}")
        for end in ("onnx", "c", "sql", "py"):
            run.command(name, f"export m.json -o e.{end}", f"e.{end}")
        run.command(name, f"report m.json {data} -o r.html", "r.html")
    for model, data in (("good.json", "good.csv"), ("classes.json", "classes.csv"), ("sparse.json", "good.svm"), ("calibrated.json", "good.csv")):
        text = (folder / model).read_text()
        cases = list(hostile_models.damaged(text, draw, 60))
        cases += hostile_models.whole(text) if model == "good.json" else []
        for name, bad in cases:
            if run.wants(f"model {model} {name}"):
                all_of(f"model {model} {name}", bad, data)
    model = json.loads((folder / "good.json").read_text())
    for name, link in hostile_models.links():
        if run.wants(f"link {name}"):
            all_of(f"link {name}", hostile_models.with_text(model, ("link",), link), "good.csv")


def losses(run, folder, draw):
    text = (folder / "loss.json").read_text()
    cases = list(hostile_models.damaged(text, draw, 40)) + list(hostile_models.whole(text))
    cases += [(name, hostile_models.with_text(json.loads(text), ("link",), link)) for name, link in hostile_models.links()]
    for name, bad in cases:
        if run.wants(f"loss {name}"):
            write(folder / "l.json", bad)
            run.command(f"loss {name}", "inspect l.json")
            run.command(f"loss {name}", "transfer l.json good.csv -o out.json", "out.json")
            run.command(f"loss {name}", "transfer l.json good.csv -o out.json --loss-kind canonical --l2 1e-3", "out.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/properloss")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    program = str(Path(chosen.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write(folder / "good.csv", GOOD)
        write(folder / "classes.csv", "a,b,y\n" + "".join(f"{k % 13},{k * 5 % 11},c{(k % 13 + k * 7 % 3) % 3}\n" for k in range(90)))
        write(folder / "good.svm", dict(hostile_tables.sparse())["good"])
        _, pixels, labels = next(hostile_tables.images())
        write(folder / "good.idx", pixels)
        write(folder / "labels.idx", labels)
        run = Runner(program, folder, chosen.only)
        for words in ("fit good.csv -o good.json", "fit good.csv -o other.json --method bregmantron --loss-out loss.json --max-iter 30",
                      "fit classes.csv -o classes.json", "fit good.svm -o sparse.json",
                      "fit good.idx -o images.json --labels-file labels.idx --positive 1",
                      "calibrate good.csv --score a --label y --ignore b --model calibrated.json -o c.csv"):
            if subprocess.run([program, *words.split()], cwd=folder, capture_output=True, check=False).returncode != 0:
                words = words.replace(" --ignore b", "")
                subprocess.run([program, *words.split()], cwd=folder, check=True, capture_output=True)
        draw = random.Random(chosen.seed)
        tables(run, folder)
        sparse(run, folder)
        packed(run, folder)
        images(run, folder)
        parquet(run, folder)
        models(run, folder, draw)
        losses(run, folder, draw)
        special_files(run, folder)
        options(run, folder)
    print(f"{run.count} runs, {len(run.wrong)} wrong; by status {dict(sorted(run.statuses.items()))}; "
          f"at most {run.worst[0]:.1f} s of the processor, {run.worst[1] >> 20} MB")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
