"""Kills commands that write, at random moments, and looks at what they leave.

    python bench/faults/kills.py --kills 1000 [--program target/release/properloss] [--seed 0]

Each command is first run to its end, twice: its outputs must be the same bytes. Then it is run
again and again over the outputs of the run before, and killed after a random part of its time
(SIGKILL, in one case of four SIGTERM, and in one of eight its standard output is closed instead).
After every kill each output must be absent, or the bytes it had before, or the bytes of the
finished run. Temporary files may be left by SIGKILL only, are named `.NAME.PROCESS-NUMBER.tmp`, and
the next finished run must have removed them.
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


def commands():
    """Name, arguments, outputs."""
    return [
        ("fit", "fit train.csv -o model.json --loss-out loss.json --method bregmantron --max-iter 60".split(),
         ["model.json", "loss.json"]),
        ("certified", ("fit train.csv -o c.json --certified --max-iter 40 --certificate c.csv"
                       " --certificate c.svg").split(), ["c.json", "c.csv", "c.svg"]),
        ("predict", "predict ready.json train.csv -o predictions.csv --columns probability,score,class".split(),
         ["predictions.csv"]),
        ("evaluate", "evaluate ready.json train.csv --plot reliability.svg".split(), ["reliability.svg"]),
        ("inspect", "inspect ready.json --plot link.svg".split(), ["link.svg"]),
        ("transfer", "transfer ready.json train.csv -o t.json".split(), ["t.json"]),
        ("synth", "synth single-index --rows 20000 --seed 3 -o s.csv".split(), ["s.csv"]),
    ]


def run(program, arguments, folder):
    start = time.perf_counter()
    done = subprocess.run([program, "--quiet", *arguments], cwd=folder, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr.decode()}")
    return time.perf_counter() - start


def contents(folder, outputs):
    return {name: (folder / name).read_bytes() if (folder / name).exists() else None for name in outputs}


def temporaries(folder):
    return [name for name in os.listdir(folder) if TEMPORARY.match(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--program", default="target/release/properloss")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    program = str(Path(options.program).resolve())
    choose = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(program, "synth single-index --rows 4000 --seed 1 -o train.csv".split(), folder)
        run(program, "fit train.csv -o ready.json --method logistic".split(), folder)
        table, wrong = [], []
        for k, (label, arguments, outputs) in enumerate(commands()):
            run(program, arguments, folder)
            finished = contents(folder, outputs)
            seconds = run(program, arguments, folder)
            if contents(folder, outputs) != finished:
                wrong.append(f"{label}: two runs differ")
            kills = options.kills // len(commands()) + (k < options.kills % len(commands()))
            counts = {"killed": 0, "finished": 0, "left": 0}
            for n in range(kills):
                # In half of the tries there is nothing at the destination, in half an older file.
                old = b"an older file\n" if n % 2 else None
                for output in outputs:
                    (folder / output).unlink(missing_ok=True)
                    if old is not None:
                        (folder / output).write_bytes(old)
                process = subprocess.Popen([program, "--quiet", *arguments], cwd=folder,
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                time.sleep(choose.random() * seconds)
                how = choose.choice(["KILL"] * 5 + ["TERM"] * 2 + ["PIPE"])
                if how == "PIPE":
                    process.stdout.close()
                else:
                    process.send_signal(signal.SIGKILL if how == "KILL" else signal.SIGTERM)
                status = process.wait()
                counts["finished" if status == 0 else "killed"] += 1
                for output, now in contents(folder, outputs).items():
                    if now not in (old, finished[output]):
                        wrong.append(f"{label}, {how}: {output} is half a file")
                # Of this process: what an earlier kill left goes with the next run that gets to write.
                left = [name for name in temporaries(folder) if f".{process.pid}-" in name]
                if left and how != "KILL":
                    wrong.append(f"{label}, {how}: left {left}")
                counts["left"] += bool(left)
            run(program, arguments, folder)
            if contents(folder, outputs) != finished:
                wrong.append(f"{label}: another answer after the kills")
            if temporaries(folder):
                wrong.append(f"{label}: {temporaries(folder)} after a finished run")
            table.append((label, kills, counts))
        print(f"{'command':<10} {'tries':>6} {'killed':>7} {'finished':>9} {'left a temporary':>17}")
        for label, kills, counts in table:
            print(f"{label:<10} {kills:>6} {counts['killed']:>7} {counts['finished']:>9} {counts['left']:>17}")
        print(json.dumps({"kills": options.kills, "wrong": len(wrong)}))
        for line in wrong[:20]:
            print("wrong:", line)
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
