"""Handwritten digits in 50 dimensions (Hughes & Sudderth 2013, section 4.2 and Fig. 3).

    python experiments/memoized/mnist.py --data FOLDER [--runs 10]

FOLDER holds mnist/mnist.npz. Pixels / 255, projected on their first 50 principal components; nu = 52, B = 0.2 I, kappa
= 0.01, m = 0, alpha = 1. Births and merges begin with one cluster, the others with 100 from k-means++.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import stickbreak as sb

D = 50
AIM = -21.15


def digits(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the training images, and project them."""
    from sklearn.decomposition import PCA

    with np.load(folder / "mnist" / "mnist.npz") as held:
        images, labels = held["X_train"].reshape(-1, 784) / 255.0, held["y_train"]
    return PCA(D, svd_solver="full").fit_transform(images), labels


def alignment(clusters: np.ndarray, labels: np.ndarray) -> float:
    """Share of rows whose digit is the one that most of their cluster's rows show."""
    counts = np.zeros((clusters.max() + 1, 10), dtype=int)
    np.add.at(counts, (clusters, labels), 1)
    return float(counts.max(axis=1).sum() / len(labels))


def methods(laps: int) -> dict[str, tuple[int, dict[str, Any]]]:
    """Options of each method compared, and which runs it gets: every one, every fifth, every tenth."""
    grow = {"max_iter": laps}
    fixed = {"n_components": 100, "init": "k-means++", "moves": "none", "max_iter": laps}
    return {
        "MO-BM": (1, grow),
        "MO-BM, 20 blocks": (5, {**grow, "n_blocks": 20}),
        "MO-BM, 100 blocks": (5, {**grow, "n_blocks": 100}),
        "MO-BM, births always accepted": (10, {**grow, "moves": sb.Moves(births="accepted")}),
        "MO-BM, births of 2 (splits)": (10, {**grow, "moves": sb.Moves(fresh_components=2)}),
        "MO-BM, births of 20, epsilon 1/50": (10, {**grow, "moves": sb.Moves(fresh_components=20, least_share=0.02)}),
        "full, k-means++ 100": (1, {**fixed, "algorithm": "full"}),
        "memoized, k-means++ 100": (1, fixed),
    }


def main() -> None:
    """Run everything, print a table, draw the figure."""
    parser = common.options(__doc__, data="folder that holds mnist/mnist.npz")
    parser.add_argument("--laps", type=int, default=180, help="most laps of a run")
    parser.add_argument("--only", nargs="*", help="names of the methods to run")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, labels = digits(given.data)
    family = sb.families.Gaussian(dof=D + 2, scatter=0.2, mean=0.0, mean_strength=0.01)
    record: dict[str, list[dict[str, Any]]] = {}
    for name, (every, choice) in methods(given.laps).items():
        if given.only and name not in given.only:
            continue
        record[name] = []
        for seed in range(-(-given.runs // every)):
            begin = time.perf_counter()
            model = sb.DPMixture(family, random_state=seed, **choice).fit(rows)
            record[name].append(
                {
                    "seconds": round(time.perf_counter() - begin, 1),
                    "clusters": model.n_components_,
                    "bound": model.elbo_ / len(rows),
                    "alignment": alignment(model.labels_, labels),
                    "trace": common.trace(model, len(rows)),
                }
            )
            last = record[name][-1]
            print(
                f"{name}, seed {seed}: {last['clusters']} clusters, {last['bound']:.4f} nats a row, "
                f"{last['alignment']:.3f} aligned, {last['seconds']:.0f} s, {model.n_iter_} laps",
                flush=True,
            )
        if not given.only:
            common.save("memoized-mnist", {"runs": record})
    summarise(record)
    if not given.only:
        draw(record)


def summarise(record: dict[str, list[dict[str, Any]]]) -> None:
    """Print the paper's claims beside ours."""
    claims = {
        "MO-BM": "over 80 clusters, above every k-means++ start",
        "MO-BM, 20 blocks": "the same",
        "MO-BM, 100 blocks": "the same",
        "full, k-means++ 100": "below MO-BM",
        "memoized, k-means++ 100": "like full",
    }
    lines = []
    for name, runs in record.items():
        bounds = np.array([run["bound"] for run in runs])
        clusters = [run["clusters"] for run in runs]
        reached = [
            next((s for s, b in zip(run["trace"]["seconds"], run["trace"]["bound"], strict=True) if b > AIM), np.inf)
            for run in runs
        ]
        lines.append(
            (
                name,
                claims.get(name, ""),
                len(runs),
                f"{min(clusters)} to {max(clusters)}",
                f"{np.median(bounds):.4f} ({bounds.min():.4f} to {bounds.max():.4f})",
                f"{np.mean([run['alignment'] for run in runs]):.3f}",
                f"{np.median([run['seconds'] for run in runs]):.0f}",
                f"{sum(np.isfinite(reached))} of {len(runs)}, first at {min(reached):.0f} s",
            )
        )
    common.table(
        (
            "method",
            "paper",
            "runs",
            "clusters",
            "nats a row: median (range)",
            "aligned",
            "seconds",
            f"above {AIM}",
        ),
        lines,
    )


def draw(record: dict[str, list[dict[str, Any]]]) -> None:
    """Draw final bounds, alignment, and the growth of K (Fig. 3)."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(13, 8), layout="constrained")
    (bounds, traces), (aligned, growth) = drawn.subplots(2, 2)
    names = list(record)
    for ax, key, what in ((bounds, "bound", "final bound, nats a row"), (aligned, "alignment", "alignment accuracy")):
        for i, name in enumerate(names):
            ax.plot([run[key] for run in record[name]], np.full(len(record[name]), i), "o", ms=4)
        ax.set(yticks=range(len(names)), yticklabels=names, xlabel=what)
        ax.invert_yaxis()
    for name in names:
        trace = record[name][0]["trace"]
        traces.plot(trace["seconds"], trace["bound"], label=name, lw=1)
        growth.plot(trace["lap"], trace["clusters"], label=name, lw=1)
    traces.set(xlabel="seconds", ylabel="bound, nats a row", ylim=(-22.5, -21))
    growth.set(xlabel="lap", ylabel="clusters", xscale="log")
    growth.legend(fontsize=7)
    common.figure("memoized-mnist", drawn)


if __name__ == "__main__":
    main()
