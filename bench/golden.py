"""Do two builds of the command line learn the same bits? `python bench/golden.py BEFORE AFTER`, two `properloss` programs.

Sixteen variants of the methods on six tables (one carried, five made by BEFORE's `synth`), on one, two and four threads; of
every model the weights, the intercept, the link, the history and the scaling are compared bit by bit, both between the
builds and between the threads. The default and `calibrate` are not among them: they change by design.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = {
    "labels": "--method labels",
    "labels, auto": "--method labels --step auto",
    "labels, unit rows": "--method labels --scaling unit-rows",
    "labels, bregman": "--method labels --objective bregman --max-iter 60",
    "labels, l2": "--method labels --l2 0.01",
    "refit": "--method refit",
    "refit, auto": "--method refit --step auto",
    "bregmantron": "--method bregmantron --max-iter 200",
    "bregmantron, as it is": "--method bregmantron --scaling none --max-iter 40",
    "approx": "--method approx --max-iter 60",
    "certified": "--method certified --max-iter 60",
    "slisotron": "--method slisotron --max-iter 60",
    "glmtron": "--method glmtron --max-iter 200",
    "canonical, probit": "--method canonical --link probit",
    "canonical, l2": "--method canonical --link cloglog --l2 0.1",
    "logistic": "--method logistic --l2 0.05",
}
MADE = {
    "plane": "gaussians --rows 400",
    "unit-norm": "gaussians-unit-norm --rows 900 --seed 1",
    "index": "single-index --rows 1500 --features 6 --seed 2",
    "index-20": "single-index --rows 700 --features 20 --seed 3",
    "index-long": "single-index --rows 6000 --features 3 --seed 4",
}
PARTS = ("weights", "intercept", "link", "history")


def learned(program, table, words, threads, folder):
    """What counts of a model, as text; or the words of a refusal."""
    model = folder / "model.json"
    model.unlink(missing_ok=True)
    command = [program, "--threads", str(threads), "fit", table, *words.split(), "--quiet", "-o", model]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return "refused: " + done.stderr.splitlines()[0]
    model = json.loads(model.read_text())
    parts = {part: model.get(part) for part in PARTS} | {"scaling": (model.get("preprocessing") or {}).get("scaling")}
    return json.dumps(parts, sort_keys=True)


def main():
    before, after = (str(Path(word).resolve()) for word in sys.argv[1:3])
    compared, different, refused = 0, [], set()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tables = {"breast-cancer": f"{ROOT}/data/breast_cancer.csv"}
        for name, words in MADE.items():
            tables[name] = str(folder / f"{name}.csv")
            subprocess.run([before, "synth", *words.split(), "-o", tables[name]], check=True, capture_output=True)
        for name, table in tables.items():
            for variant, words in VARIANTS.items():
                first = learned(before, table, words, 1, folder)
                for threads in (1, 2, 4):
                    ours = learned(after, table, words, threads, folder)
                    compared += 1
                    if ours.startswith("refused") or first.startswith("refused"):
                        refused.add(f"{variant}: {first[:90]} / {ours[:90]}")
                    if ours != first:
                        different.append(f"{name}, {variant}, {threads} threads")
    print(f"{compared} models compared, {len(different)} differ")
    print("\n".join([*different, *sorted(refused)]))
    return bool(different or refused)


if __name__ == "__main__":
    sys.exit(main())
