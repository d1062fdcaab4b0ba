"""How long Ctrl-C takes in the default fit at 60,000 x 784: `python bench/faults/interrupt.py [--tries 8] [--program PROGRAM]`.

Fits of fashion-mnist (odd classes against even ones) by the command line and from Python get SIGINT at
random moments of their fit. Printed: seconds from the signal to the end of the process, or to the KeyboardInterrupt, its status, and what it left.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "quality"))
import images  # noqa: E402

IN_PYTHON = """
import sys, time
sys.path.insert(0, {quality!r})
import images, properloss
x, y, _, _ = images.fashion_mnist()
print("fitting", flush=True)
try:
    properloss.ProperLossClassifier().fit(x, y % 2)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def command_line(program, folder, wait):
    data = Path(images.folder_of("fashion-mnist")) / "train-images-idx3-ubyte.gz"
    out = folder / "model.json"
    process = subprocess.Popen([program, "fit", data, "--positive", "1,3,5,7,9", "--negative", "0,2,4,6,8", "--quiet", "-o", out],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    time.sleep(wait)
    start = time.time()
    process.send_signal(signal.SIGINT)
    status = process.wait()
    return time.time() - start, status, [path.name for path in folder.iterdir()]


def python(_, folder, wait):
    process = subprocess.Popen([sys.executable, "-c", IN_PYTHON.format(quality=str(ROOT / "bench" / "quality"))], cwd=folder,
                               stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    process.stdout.readline()
    time.sleep(wait)
    start = time.time()
    process.send_signal(signal.SIGINT)
    caught = process.stdout.readline()
    status = process.wait()
    return (float(caught) - start if caught else float("nan")), status, [path.name for path in folder.iterdir()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--longest", type=float, default=5.0, help="seconds of the fit within which the signal comes")
    parser.add_argument("--program", default=str(ROOT / "target/release/properloss"))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if not images.folder_of("fashion-mnist"):
        sys.exit("skipped: no data (put the four IDX files below data/fashion-mnist)")
    # The fits run in folders of their own.
    os.environ["PROPERLOSS_DATA"] = str(images.folder_of("fashion-mnist").resolve().parent)
    rng = random.Random(arguments.seed)
    for run in (command_line, python):
        worst = 0.0
        for _ in range(arguments.tries):
            wait = rng.uniform(0.3, arguments.longest)
            with tempfile.TemporaryDirectory() as folder:
                seconds, status, left = run(arguments.program, Path(folder), wait)
            if not seconds >= 0 or status != (130 if run is command_line else 0):
                sys.exit(f"{run.__name__}: ended before the signal, or otherwise: status {status}, after {wait:.2f} s")
            worst = max(worst, seconds)
            print(f"{run.__name__}: after {wait:.2f} s, ended within {seconds:.3f} s, status {status}, left {left or 'nothing'}", flush=True)
        print(f"{run.__name__}: worst {worst:.3f} s of {arguments.tries}", flush=True)


if __name__ == "__main__":
    main()
