"""Measure the CPU time of feature p-values and of resamples: 200 x 5,000 with 40 pairs.

python benchmarks/feature_speed.py
"""

import os
import time

# Set before NumPy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import linkselect as ls
from linkselect.evaluation import feature_p_values

N_PERMUTATIONS, N_RESAMPLES = 199, 100


def seconds(work, *given, **known):
    start = time.process_time()
    work(*given, **known)
    return time.process_time() - start


def main():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5000)), rng.integers(0, 2, 200)
    known = {"pairs": ls.Pairs.from_labels(y, n_must=20, n_cannot=20, random_state=0)}
    options = {"n_permutations": N_PERMUTATIONS, "n_jobs": 1}
    print(f"| method | {N_PERMUTATIONS} permutations | {N_RESAMPLES} resamples |")
    print("|---|---|---|")
    for selector in (ls.LinkSelector(), ls.ConstraintScore()):
        stable = ls.StableSelector(selector, n_resamples=N_RESAMPLES, random_state=0)
        permuted = seconds(feature_p_values, selector, X, **known, **options)
        resampled = seconds(stable.fit, X, **known)
        print(f"| {type(selector).__name__} | {permuted:.1f} s | {resampled:.1f} s |")


if __name__ == "__main__":
    main()
