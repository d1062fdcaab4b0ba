"""The crafted files that once took all memory, and fits whose memory is estimated: seconds, peak, answer.

    python bench/faults/cases.py [--program target/release/properloss] [--hashed] [--fits]

`--hashed` adds 2^28 hashed columns, 100,000 rows, 30 values a row; `--fits` compares what fits take with
what was estimated, which the program says when `--memory` is too little.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path


def zeros(path, bytes_out):
    """A gzip file of so many zeros: one compressed megabyte, over and over. (Nobody gets to its checksum.)"""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte = pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH)
    with path.open("wb") as out:
        out.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
        for _ in range(bytes_out >> 20):
            out.write(megabyte)
        out.write(pack.flush() + bytes(8))


def run(program, line, folder):
    """Status, seconds, processor seconds, peak MB, and what it said."""
    said = (folder / "said").open("w+")
    start = time.perf_counter()
    child = subprocess.Popen([program, *line.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    said.seek(0)
    lines = [text for text in said.read().splitlines() if text.startswith(("error", "hint"))]
    return (child.returncode, time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024,
            " / ".join(lines) or "ok")


def crafted(program, folder):
    (folder / "four.svm").write_text("1 1:1 4294967295:2\n0 2:1\n1 1:3\n0 2:2\n")
    (folder / "six.svm").write_text("1 1:1 300000000:2\n0 2:1\n1 1:3\n0 2:2\n1 3:1\n0 5:1\n")
    zeros(folder / "zeros.csv.gz", 13 << 30)
    os.link(folder / "zeros.csv.gz", folder / "zeros.svm.gz")
    show(f"zeros.csv.gz has {(folder / 'zeros.csv.gz').stat().st_size / 2**20:.1f} MB")
    for name in ("four.svm", "six.svm", "zeros.csv.gz", "zeros.svm.gz"):
        line(name, run(program, f"fit {name} -o m.json --quiet", folder))


def hashed(program, folder):
    draw = random.Random(1)
    with (folder / "hashed.svm").open("w") as out:
        for _ in range(100_000):
            columns = sorted({draw.randrange(1, 2**28 + 1) if draw.random() < 0.67 else draw.randrange(1, 2000)
                              for _ in range(30)})
            label = int(sum(columns[:3]) % 3 == 0 or columns[0] < 30)
            out.write(f"{label} " + " ".join(f"{c}:1" for c in columns) + "\n")
    line("2^28 columns", run(program, "fit hashed.svm -o h.json --method logistic --quiet", folder))
    line("predict", run(program, "predict h.json hashed.svm -o p.csv --quiet", folder))


def fits(program, folder):
    """Estimate: `--memory` of 1 MB is refused, or streams, with the number in the sentence."""
    for rows, columns in ((200_000, 5), (20_000, 200), (4_000, 1500)):
        name = f"{rows}x{columns}.csv"
        run(program, f"synth single-index --rows {rows} --features {columns} --seed 1 -o {name} --quiet", folder)
        _, _, _, base, _ = run(program, f"fit {name} -o b.json --method glmtron --max-iter 1 --quiet", folder)
        for method in ("proper", "logistic", "bregmantron", "certified", "slisotron"):
            most = "" if method in ("proper", "logistic") else " --max-iter 20"
            result = run(program, f"fit {name} -o m.json --method {method}{most} --quiet", folder)
            told = run(program, f"fit {name} -o m.json --method {method} --memory 1MB --test-share 0.1", folder)[4]
            number = re.search(r"takes (?:about )?([\d.]+ \w+)", told)
            line(f"{method} {rows} x {columns}", (*result[:4], f"estimated {number.group(1) if number else told}"))
        show(f"reading and one iteration of glmtron: {base:.0f} MB")


def line(name, result):
    status, seconds, processor, peak, said = result
    show(f"{name:<28} status {status}  {seconds:6.2f} s  {processor:6.2f} s of the processor  {peak:7.0f} MB  {said}")


def show(text):
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="target/release/properloss")
    parser.add_argument("--hashed", action="store_true")
    parser.add_argument("--fits", action="store_true")
    options = parser.parse_args()
    program = str(Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.fits:
            fits(program, folder)
            return 0
        crafted(program, folder)
        if options.hashed:
            hashed(program, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
