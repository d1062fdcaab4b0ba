"""Kills commands that write, at random moments, and looks at what they leave.

    python bench/faults/kills.py --kills 1000 [--program target/release/properloss] [--seed 0]

Each command is first run to its end, twice: its outputs must be the same bytes. Then it is run
again and again, over nothing or over an older file, and killed after a random part of its time,
which is measured as the tries go: it shrinks where a run had ended before the kill and grows where
it had not, so that most kills meet a run at work on an idle machine and on a busy one (SIGKILL, in a
quarter of the tries SIGTERM, SIGINT or SIGHUP, and in an eighth its standard output is closed instead). After every try each output must be absent, or the bytes it had before, or
the bytes of the finished run. Temporary files may be left by SIGKILL only, are named
`.NAME.PROCESS-NUMBER.tmp`, and the next finished run must have removed them.

A cache of rows in blocks is never given an older file to write over: it is absent or whole. Blocks
without a name and standard input that was copied lie in the same folder (TMPDIR), and so are looked at too.

Commands with a checkpoint go on from whatever the kills before left of it, and after three kills are
run to their end: the outputs must be those of a run that nobody disturbed.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEMPORARY = re.compile(r"^\.(.+)\.\d+-\d+\.tmp$")
METHODS = ["labels", "certified", "glmtron", "slisotron"]


def commands():
    """Name, arguments, outputs."""
    plain = [
        ("fit", "fit train.csv -o model.json --loss-out loss.json --method bregmantron --max-iter 60",
         ["model.json", "loss.json"]),
        ("default", "fit small.csv -o d.json --cv 3", ["d.json"]),
        ("certified", "fit train.csv -o c.json --certified --max-iter 40 --certificate c.csv --certificate c.svg",
         ["c.json", "c.csv", "c.svg"]),
        ("predict", "predict ready.json train.csv -o predictions.csv --columns probability,score,class",
         ["predictions.csv"]),
        ("calibrate", "calibrate scored.csv --score score --label y -o calibrated.csv --model calibrator.json",
         ["calibrated.csv", "calibrator.json"]),
        ("evaluate", "evaluate ready.json train.csv --plot reliability.svg", ["reliability.svg"]),
        ("inspect", "inspect ready.json --plot link.svg", ["link.svg"]),
        ("transfer", "transfer ready.json train.csv -o t.json", ["t.json"]),
        ("report", "report ready.json small.csv -o page.html", ["page.html"]),
        ("export", "export ready.json -o model.onnx", ["model.onnx"]),
        ("classes", "fit three.csv -o k.json --label y", ["k.json"]),
        ("k-report", "report classes.json three.csv -o k.html", ["k.html"]),
        ("k-calib", "calibrate three.csv --label y -o k.csv --model kc.json", ["k.csv", "kc.json"]),
        ("cache", "fit train.csv -o b.json --cache cache", ["b.json", "cache/rows.blocks"]),
        ("streamed", "fit train.csv -o u.json --memory 1800KB", ["u.json"]),
        ("stdin", "fit - -o i.json --memory 1800KB < train.csv", ["i.json"]),
        ("manual", "manual --out pages", ["pages/properloss.1", "pages/properloss-fit.1"]),
        ("synth", "synth single-index --rows 20000 --seed 3 -o s.csv", ["s.csv"]),
    ]
    return [(name, line.split(), outputs, None) for name, line, outputs in plain]


def checkpointed():
    """The same, and the file of the state."""
    for method in METHODS:
        line = f"fit small.csv -o {method}.json --method {method} --max-iter 40 --tol 0"
        line += f" --checkpoint {method}.state --checkpoint-every 0"
        yield f"{method}*", line.split(), [f"{method}.json"], f"{method}.state"


def begin(program, arguments, folder, **where):
    """The command in its folder, which is also where temporary files go; `< FILE` is its input."""
    source = subprocess.DEVNULL
    if "<" in arguments:
        source = (folder / arguments[-1]).open("rb")
        arguments = arguments[:-2]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen([program, "--quiet", *arguments], cwd=folder, stdin=source, env=environment, **where)


def run(program, arguments, folder):
    start = time.perf_counter()
    process = begin(program, arguments, folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, told = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: status {process.returncode}\n{told.decode()}")
    return time.perf_counter() - start


def contents(folder, outputs):
    return {name: (folder / name).read_bytes() if (folder / name).exists() else None for name in outputs}


def temporaries(folder):
    return [name for _, _, names in os.walk(folder) for name in names if TEMPORARY.match(name)]


def unnamed(folder):
    """Blocks that should have had no name."""
    return [name for name in os.listdir(folder) if name.endswith(".blocks")]


def lay_out(program, folder):
    """The files that the commands read."""
    run(program, "synth single-index --rows 4000 --seed 1 -o train.csv".split(), folder)
    run(program, "synth single-index --rows 300 --features 5 --seed 2 -o small.csv".split(), folder)
    run(program, "fit train.csv -o ready.json --method logistic".split(), folder)
    draw = random.Random(4)
    three = "".join(f"{draw.gauss(k % 3, 1):.3f},{draw.gauss(0, 1):.3f},{draw.gauss(-(k % 3), 1):.3f},c{k % 3}\n"
                    for k in range(240))
    (folder / "three.csv").write_text("c0,c1,c2,y\n" + three)
    run(program, "fit three.csv -o classes.json --label y".split(), folder)
    run(program, "predict ready.json train.csv -o scores.csv --columns score".split(), folder)
    scores = (folder / "scores.csv").read_text().split()[1:]
    rows = (folder / "train.csv").read_text().split()
    place = rows[0].split(",").index("label")
    labels = [row.split(",")[place] for row in rows[1:]]
    (folder / "scored.csv").write_text("score,y\n" + "".join(f"{s},{y}\n" for s, y in zip(scores, labels)))


class Campaign:
    def __init__(self, program, folder, choose):
        self.program, self.folder, self.choose = program, folder, choose
        self.table, self.wrong = [], []

    def kill(self, label, arguments, outputs, finished, seconds, old):
        """One try; gives back whether the command had finished, and whether it left a temporary file."""
        process = begin(self.program, arguments, self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(self.choose.random() * seconds)
        how = self.choose.choice(["KILL"] * 10 + ["TERM", "TERM", "INT", "HUP"] + ["PIPE"] * 2)
        if how == "PIPE":
            process.stdout.close()
        else:
            process.send_signal(getattr(signal, f"SIG{how}"))
        status = process.wait()
        # Before it listens, a signal ends it as any program; afterwards it says which one it was.
        number = 0 if how == "PIPE" else int(getattr(signal, f"SIG{how}"))
        expected = {0, -number} | ({128 + number} if how not in ("PIPE", "KILL") else set())
        if status not in expected:
            self.wrong.append(f"{label}, {how}: status {status}")
        for output, now in contents(self.folder, outputs).items():
            before = None if "/" in output else old
            if now not in (before, finished[output]):
                self.wrong.append(f"{label}, {how}: {output} is neither the old file nor the new one")
        # Of this process: what an earlier kill left goes with the next run that gets to write.
        left = [name for name in temporaries(self.folder) if f".{process.pid}-" in name]
        if left and how != "KILL":
            self.wrong.append(f"{label}, {how}: left {left}")
        if unnamed(self.folder):
            self.wrong.append(f"{label}, {how}: left {unnamed(self.folder)}")
        return status == 0, bool(left)

    def command(self, label, arguments, outputs, state, kills):
        # With a state: that of a run which keeps none.
        plain = arguments if state is None else arguments[: arguments.index("--checkpoint")]
        run(self.program, plain, self.folder)
        finished = contents(self.folder, outputs)
        seconds = run(self.program, arguments, self.folder)
        if contents(self.folder, outputs) != finished:
            self.wrong.append(f"{label}: two runs differ")
        count = {"tries": kills, "finished": 0, "left": 0, "resumed": 0}
        for n in range(kills):
            # In half of the tries there is nothing at the destination, in half an older file.
            old = b"an older file\n" if n % 2 else None
            for output in outputs:
                (self.folder / output).unlink(missing_ok=True)
                if old is not None and "/" not in output:
                    (self.folder / output).write_bytes(old)
            if state is not None:
                count["resumed"] += (self.folder / state).exists()
            done, left = self.kill(label, arguments, outputs, finished, seconds, old)
            count["finished"] += done
            count["left"] += left
            # Balanced where a quarter of the runs end before their kill: ln 1.03 * 3 = -ln 0.915.
            seconds *= 0.915 if done else 1.03
            if state is not None and n % 3 == 2:
                self.finish(label, arguments, outputs, finished)
        self.finish(label, arguments, outputs, finished)
        if temporaries(self.folder):
            self.wrong.append(f"{label}: {temporaries(self.folder)} after a finished run")
        self.table.append((label, count))

    def finish(self, label, arguments, outputs, finished):
        run(self.program, arguments, self.folder)
        if contents(self.folder, outputs) != finished:
            self.wrong.append(f"{label}: another answer after the kills")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--program", default="target/release/properloss")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["checkpoints", "commands"], help="one of the two kinds")
    options = parser.parse_args()
    chosen = [] if options.only == "checkpoints" else commands()
    chosen += [] if options.only == "commands" else list(checkpointed())
    program = str(Path(options.program).resolve())
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(program, Path(name), random.Random(options.seed))
        lay_out(program, campaign.folder)
        for k, (label, arguments, outputs, state) in enumerate(chosen):
            kills = options.kills // len(chosen) + (k < options.kills % len(chosen))
            campaign.command(label, arguments, outputs, state, kills)
    print(f"{'command':<12} {'tries':>6} {'finished':>9} {'left a temporary':>17} {'began from a state':>19}")
    for label, count in campaign.table:
        print(f"{label:<12} {count['tries']:>6} {count['finished']:>9} {count['left']:>17} {count['resumed']:>19}")
    seconds = round(time.perf_counter() - start)
    print(json.dumps({"kills": options.kills, "wrong": len(campaign.wrong), "seconds": seconds}))
    for line in campaign.wrong[:20]:
        print("wrong:", line)
    return 1 if campaign.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
