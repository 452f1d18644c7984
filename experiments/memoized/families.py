"""Births and merges for families of every kind: the number of groups found from one cluster.

python experiments/memoized/families.py [--runs 10]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import stickbreak as sb

Made = tuple[Any, np.ndarray, int]


def bars(rng: np.random.Generator) -> Made:
    """2,000 documents of 100 words over a 12 x 12 grid, each of one of 6 bars; CSR."""
    side, n_bars = 12, 6
    topics = np.full((n_bars, side, side), 0.05 / side**2)
    width = side // (n_bars // 2)
    for k in range(n_bars // 2):
        topics[k, k * width : (k + 1) * width, :] += 0.95 / (width * side)
        topics[k + n_bars // 2, :, k * width : (k + 1) * width] += 0.95 / (width * side)
    topics = topics.reshape(n_bars, -1)
    topics /= topics.sum(axis=1, keepdims=True)
    z = rng.choice(n_bars, 2000, p=np.array([2, 1.8, 1.6, 1.4, 1.2, 1]) / 9)
    return sparse.csr_array(np.stack([rng.multinomial(100, topics[k]) for k in z])), z, n_bars


def patterns(rng: np.random.Generator) -> Made:
    """3,000 rows of 24 flags in 8 patterns, one flag in ten turned."""
    z = rng.integers(0, 8, 3000)
    flags = rng.random((8, 24)) < 0.5
    return (flags[z] ^ (rng.random((3000, 24)) < 0.1)).astype(float), z, 8


def counts(rng: np.random.Generator) -> Made:
    """4,000 rows of 12 counts in 6 groups with rates of their own."""
    z = rng.integers(0, 6, 4000)
    return rng.poisson(rng.gamma(1.0, 5.0, (6, 12))[z]).astype(float), z, 6


def people(rng: np.random.Generator) -> Made:
    """3,000 rows of a table with numbers, counts, flags and words in 5 groups; a cell in twenty missing."""
    z = rng.integers(0, 5, 3000)
    words = np.array(["red", "green", "blue", "grey", "pink", "black"])
    table = pd.DataFrame(
        {
            "height": rng.normal(np.array([0, 3, 6, 9, 12.0])[z], 1),
            "weight": rng.normal(np.array([5, 0, 5, 0, 5.0])[z], 1),
            "visits": rng.poisson(np.array([1, 10, 30, 1, 10])[z]).astype(float),
            "member": (rng.random(3000) < np.array([0.9, 0.1, 0.5, 0.9, 0.1])[z]),
            "colour": np.where(rng.random(3000) < 0.8, words[z], words[rng.integers(0, 6, 3000)]),
        }
    )
    for column in ("height", "weight", "colour"):
        table.loc[rng.random(3000) < 0.05, column] = None if column == "colour" else np.nan
    return table, z, 5


KINDS: dict[str, tuple[Any, Callable[[np.random.Generator], Made]]] = {
    "multinomial bars (CSR)": ("multinomial", bars),
    "Bernoulli patterns": ("bernoulli", patterns),
    "Poisson mixture": ("poisson", counts),
    "mixed table, missing cells": (sb.families.Mixed({"visits": "count"}), people),
}


def main() -> None:
    """Run everything and print a table."""
    given = common.options(__doc__).parse_args()
    warnings.simplefilter("ignore")
    record, lines = {}, []
    for name, (family, make) in KINDS.items():
        rows, z, k = make(np.random.default_rng(0))
        runs = []
        for seed in range(given.runs):
            begin = time.perf_counter()
            model = sb.DPMixture(family, random_state=seed).fit(rows)
            runs.append(
                {
                    "seconds": round(time.perf_counter() - begin, 2),
                    "clusters": model.n_components_,
                    "agreement": adjusted_rand_score(z, model.labels_),
                    "laps": model.n_iter_,
                    "bound": model.elbo_ / len(z),
                }
            )
        truth = sb.DPMixture(family, init=z, moves="none", max_iter=500, tol=1e-9).fit(rows)
        right = sum(run["clusters"] == k for run in runs)
        behind = [truth.elbo_ / len(z) - run["bound"] for run in runs]
        record[name] = {"truth": k, "truth_bound": truth.elbo_ / len(z), "runs": runs}
        lines.append(
            (
                name,
                k,
                f"{right} of {len(runs)}",
                sorted({run["clusters"] for run in runs}),
                f"{max(behind):.1e}",
                f"{min(run['agreement'] for run in runs):.3f}",
                f"{np.median([run['laps'] for run in runs]):.0f}",
                f"{np.median([run['seconds'] for run in runs]):.2f}",
            )
        )
    head = ("data", "groups", "found", "clusters", "worst behind a start at the truth, nats a row", "least ARI")
    common.table((*head, "laps", "seconds"), lines)
    common.save("memoized-families", record)


if __name__ == "__main__":
    main()
