"""Text-like rows, images, wide tables and small samples: `python bench/quality/wide.py --profile quick|full`.

The default estimator against LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss") on the columns as
they are and on standardised ones, and against an elastic net by SGD whose strength and mixture are
chosen by the same cross-validation. Every repetition draws rows (or splits) anew; differences are paired.
Writes `--out` (docs/quality/wide.md). One thread each.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegressionCV, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parent))
import images
import synthetic

PROFILES = {
    "quick": {"repetitions": 4, "text": [200, 1000], "images": [100, 400], "wide": [100, 400], "small": [60]},
    "full": {
        "repetitions": 12,
        "text": [200, 1000, 4000],
        "images": [100, 400, 1000],
        "wide": [60, 100, 400, 1000],
        "small": [60, 100],
    },
}
TEST_ROWS = 4000


def text(rng, m, words=5000, spread=6.0, rare=0.0, length=60):
    """Unit rows of words by Zipf's law; `rare` moves the signal to rare words (0: every word alike)."""
    total = m + TEST_ROWS
    rows = np.repeat(np.arange(total), length)
    columns = np.minimum(np.exp(rng.random(len(rows)) * np.log(words)).astype(int), words) - 1
    values = rng.exponential(size=len(rows)) + 0.1
    x = sp.csr_matrix((values, (rows, columns)), shape=(total, words))
    x = (sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(1)).ravel())) @ x).tocsr()
    x.sort_indices()
    weights = rng.normal(size=words) * (1 + np.arange(words)) ** rare
    z = x @ weights
    return x, spread * 0.35 * (z - z.mean()) / z.std()


def wide(rng, m, columns=2000, informative=2000, blocks=0, decay=0.0):
    """Normal columns; `blocks` of correlated ones; spreads that fall by a power; a sparse or dense signal."""
    x = rng.normal(size=(m + 2000, columns))
    if blocks:
        common = rng.normal(size=(m + 2000, blocks))
        x = 0.6 * x + 0.8 * common[:, np.arange(columns) % blocks]
    x *= (1.0 + np.arange(columns)) ** -decay
    weights = np.zeros(columns)
    weights[rng.permutation(columns)[:informative]] = rng.normal(size=informative)
    z = x @ weights
    return x, 2.5 * (z - z.mean()) / z.std()


FAMILIES = {
    "text": {
        "every word alike": lambda rng, m: text(rng, m),
        "rare words tell": lambda rng, m: text(rng, m, rare=0.5),
        "common words tell": lambda rng, m: text(rng, m, rare=-0.5),
        "weak": lambda rng, m: text(rng, m, spread=2.0),
        "20,000 words": lambda rng, m: text(rng, m, words=20_000),
    },
    "wide": {
        "dense signal": lambda rng, m: wide(rng, m),
        "20 of 2,000 tell": lambda rng, m: wide(rng, m, informative=20),
        "blocks": lambda rng, m: wide(rng, m, blocks=20),
        "decaying spread": lambda rng, m: wide(rng, m, decay=0.7),
        "600 columns": lambda rng, m: wide(rng, m, columns=600, informative=600, blocks=8),
    },
}


def draw(block, name, m, seed):
    """Training and test rows."""
    rng = np.random.default_rng(seed)
    if block == "images":
        return images.split(name, m, rng)
    if block == "small":
        x, y, x_test, y_test, _ = synthetic.draw(name, m, TEST_ROWS, seed)
        return x, y, x_test, y_test
    x, z = FAMILIES[block][name](rng, m)
    y = (rng.random(len(z)) < 1 / (1 + np.exp(-z))).astype(int)
    return x[:m], y[:m], x[m:], y[m:]


def cv(scaled):
    def fit(x, y):
        model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=300)
        if scaled:
            model = make_pipeline(StandardScaler(with_mean=not sp.issparse(x)), model)
        return model.fit(x, y)

    return fit


def elastic_net(x, y):
    grid = {"sgdclassifier__alpha": 10.0 ** np.arange(-5, 0), "sgdclassifier__l1_ratio": [0.0, 0.15, 0.5]}
    sgd = SGDClassifier(loss="log_loss", penalty="elasticnet", average=True, random_state=0)
    model = make_pipeline(StandardScaler(with_mean=False), sgd) if not sp.issparse(x) else make_pipeline(sgd)
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=5).fit(x, y)


def ours(x, y):
    from properloss import ProperLossClassifier

    return ProperLossClassifier().fit(x, y)


METHODS = {"ours": ours, "raw": cv(False), "scaled": cv(True), "elastic net": elastic_net}


def measure(block, name, m, seed):
    """Test log-loss and CPU seconds of every method; None if there is no data or a class is missing."""
    data = draw(block, name, m, seed)
    if data is None or min(np.bincount(data[1], minlength=2)) < 8:
        return None
    x, y, x_test, y_test = data
    losses, seconds = {}, {}
    for method, fit in METHODS.items():
        if method == "elastic net" and block not in ("text", "wide"):
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = fit(x, y).predict_proba(x_test)[:, 1]
        seconds[method] = time.process_time() - start
        losses[method] = log_loss(y_test, np.clip(p, 1e-15, 1 - 1e-15), labels=[0, 1])
    return losses, seconds


def judge(d, share):
    """Mean and standard error (re-splits overlap by `share`: Nadeau and Bengio); win, tie or loss."""
    n = len(d)
    error = d.std(ddof=1) * np.sqrt(1 / n + share) if n > 1 else np.inf
    point = student.ppf(0.975, max(n - 1, 1)) * error
    return d.mean(), error, "tie" if abs(d.mean()) <= point else "win" if d.mean() < 0 else "loss"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--blocks", nargs="*", default=["text", "images", "wide", "small"])
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--without", nargs="*", default=[], help="methods to leave out, such as \"elastic net\" (slow)")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("docs/quality/wide.md"))
    arguments = parser.parse_args()
    for method in arguments.without:
        METHODS.pop(method, None)
    profile = PROFILES[arguments.profile]
    repetitions = arguments.repetitions or profile["repetitions"]
    names = {
        "text": list(FAMILIES["text"]),
        "wide": list(FAMILIES["wide"]),
        "images": images.names(),
        "small": list(synthetic.HELD_OUT),
    }
    lines, blocks, seconds = [], [], {}
    for block in arguments.blocks:
        if not names[block]:
            print(f"{block}: skipped: no data", flush=True)
        for m in profile[block]:
            means = {}
            for name in names[block]:
                done = [measure(block, name, m, arguments.seed + r) for r in range(repetitions)]
                done = [d for d in done if d]
                if len(done) < 2:
                    continue
                for _, times in done:
                    for method, value in times.items():
                        seconds.setdefault(block, {}).setdefault(method, []).append(value)
                ours_ = np.array([losses["ours"] for losses, _ in done])
                cells = [f"{ours_.mean():.4f}"]
                for other in ("raw", "scaled", "elastic net"):
                    if other not in done[0][0]:
                        cells.append("")
                        continue
                    d = ours_ - np.array([losses[other] for losses, _ in done])
                    share = m / images.ROWS if block == "images" else 0.0
                    mean, error, outcome = judge(d, share)
                    means.setdefault(other, []).append((mean, outcome))
                    cells.append(f"{1e4 * mean:+.0f} ± {1e4 * error:.0f}{' **loss**' * (outcome == 'loss')}")
                lines.append(f"| {block} | {name} | {m:,} | " + " | ".join(cells) + " |")
                print(lines[-1], flush=True)
            for other, values in means.items():
                d = np.array([1e4 * mean for mean, _ in values])
                count = [sum(o == k for _, o in values) for k in ("win", "tie", "loss")]
                blocks.append(
                    f"| {block} | {m:,} | {other} | {d.mean():+.0f} | {np.median(d):+.0f} | "
                    + " / ".join(map(str, count))
                    + " |"
                )
    write(arguments, repetitions, lines, blocks, seconds)


def write(arguments, repetitions, lines, blocks, seconds):
    head = f"""# Text-like rows, images, wide tables, small samples

`python bench/quality/wide.py --profile {arguments.profile}`, {repetitions} repetitions, seed {arguments.seed}. These families
and pairs of classes served no choice (the design looked at other pairs of the same images). Differences of test log-loss in 1e-4 nats, ours less theirs: negative is better.
*raw*, *scaled*: LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss") on the columns as they are and on standardised
ones; *elastic net*: SGD, its strength and mixture chosen by the same cross-validation. better / tied / worse at the
97.5 % point of the paired differences; re-splits of images with the variance of Nadeau and Bengio (2003).

| block | rows | against | mean | median | better / tied / worse |
|---|---|---|---|---|---|
"""
    times = "\n\nMean CPU seconds of a fit with its prediction, one thread: "
    parts = []
    for block, of in seconds.items():
        parts.append(f"{block}: " + ", ".join(f"{k} {np.mean(v):.2f}" for k, v in of.items()))
    table = "\n\n| block | data | rows | log-loss | raw | scaled | elastic net |\n|---|---|---|---|---|---|---|\n"
    text_ = head + "\n".join(blocks) + times + "; ".join(parts) + "." + table + "\n".join(lines) + "\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text_)


if __name__ == "__main__":
    main()
