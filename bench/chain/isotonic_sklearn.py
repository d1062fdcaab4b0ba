"""Isotonic regression by scikit-learn: ns an element at 1e4, 1e5, ..., as one comma-separated line.

Usage: python isotonic_sklearn.py [largest exponent, default 7]
Unsorted normal scores, labels with the logistic probability of their score, as in chain_bench.
"""

import sys
import time


def main() -> int:
    try:
        import numpy as np
        from sklearn.isotonic import IsotonicRegression
    except ImportError as missing:
        print(f"skipped: {missing}; pip install scikit-learn", file=sys.stderr)
        return 0
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    figures = []
    for exponent in range(4, largest + 1):
        m = 10**exponent
        rng = np.random.default_rng(m)
        z = 2.0 * rng.standard_normal(m)
        y = (rng.random(m) < 1.0 / (1.0 + np.exp(-z))).astype(float)
        best = float("inf")
        for _ in range(3 if exponent < 7 else 1):
            # Processor time: scikit-learn runs this on one thread.
            start = time.process_time()
            IsotonicRegression().fit(z, y)
            best = min(best, time.process_time() - start)
        figures.append(f"{best * 1e9 / m:.1f}")
    print(",".join(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
