"""Edges in 5 x 5 patches, and who finds the eight components (Hughes & Sudderth 2013, section 4.1 and Fig. 2).

    python experiments/memoized/toy.py [--runs 10]

100,000 zero-mean rows of 25 columns from 8 equally common components whose covariances make a strong edge at 8
orientations; 100 blocks. Births and merges begin with one cluster, the others with 25 from random rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import stickbreak as sb

N, SIDE, K = 100_000, 5, 8
BLOCKS = 100
CLOSE = 1e-5
FAMILY = "zero-mean-gaussian"


def covariances() -> np.ndarray:
    """Covariances of patches that hold a strong edge, at eight orientations."""
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    edges = [np.tanh(2 * (np.cos(a) * x + np.sin(a) * y)).ravel() for a in np.arange(K) * np.pi / K]
    return np.array([np.outer(edge, edge) + 0.01 * np.eye(SIDE**2) for edge in edges])


def patches(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and the component of each."""
    rng = np.random.default_rng(seed)
    factors = np.linalg.cholesky(covariances())
    z = rng.integers(0, K, N)
    rows = rng.standard_normal((N, SIDE**2))
    for k in range(K):
        rows[z == k] = rows[z == k] @ factors[k].T
    return rows, z


def methods(laps: int) -> dict[str, dict[str, Any]]:
    """Options of each method compared."""
    many = {"n_components": 25, "init": "random", "max_iter": laps, "tol": 0}
    noisy = {**many, "algorithm": "stochastic", "n_blocks": BLOCKS}
    return {
        "MO-BM (K = 1)": {"n_blocks": BLOCKS},
        "MO-BM, births always accepted": {"n_blocks": BLOCKS, "moves": sb.Moves(births="accepted")},
        "full": {**many, "algorithm": "full", "moves": "none"},
        "memoized": {**many, "n_blocks": BLOCKS, "moves": "none"},
        "stochastic a": {**noisy, "learning_rate": (10, 0.5)},
        "stochastic b": {**noisy, "learning_rate": (100, 0.5)},
        "stochastic c": {**noisy, "learning_rate": (10, 0.9)},
        "GreedyMerge": {**many, "n_blocks": BLOCKS, "moves": sb.Moves(births=None, merges="greedy")},
    }


def found(model: sb.DPMixture, truth: np.ndarray) -> tuple[int, np.ndarray]:
    """Count components of which a good likeness was found, and tell which cluster is whose."""
    far = np.array([[np.linalg.norm(c - t) / np.linalg.norm(t) for c in model.covariances_] for t in truth])
    rows, columns = linear_sum_assignment(far)
    likeness = np.full(len(truth), -1)
    likeness[rows] = np.where(far[rows, columns] < 0.1, columns, -1)
    return int(np.sum(likeness >= 0)), likeness


def main() -> None:
    """Run everything, print a table, draw the figure."""
    parser = common.options(__doc__)
    parser.add_argument("--laps", type=int, default=50, help="laps of the methods that don't stop by themselves")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, z = patches()
    best = sb.DPMixture(FAMILY, init=z, moves="none", n_blocks=1, max_iter=200, tol=1e-9).fit(rows)
    print(f"started at the truth: {best.elbo_ / N:.7f} nats a row, {best.n_components_} clusters")
    truth, record, models = covariances(), {}, {}
    for name, choice in methods(given.laps).items():
        record[name] = []
        for seed in range(given.runs):
            begin = time.perf_counter()
            model = sb.DPMixture(FAMILY, random_state=seed, **choice).fit(rows)
            seconds = time.perf_counter() - begin
            models.setdefault(name, model)
            record[name].append(
                {
                    "seconds": round(seconds, 2),
                    "clusters": model.n_components_,
                    "found": found(model, truth)[0],
                    "behind": (best.elbo_ - model.elbo_) / N,
                    "converged": model.converged_,
                    "trace": common.trace(model, N),
                }
            )
        tell(name, record[name])
    summarise(record)
    common.save("memoized-toy", {"truth": best.elbo_ / N, "runs": record})
    draw(record, models, best.elbo_ / N)


def tell(name: str, runs: list[dict[str, Any]]) -> None:
    """Print a line about a method."""
    behind = [run["behind"] for run in runs]
    print(
        f"{name}: clusters {[run['clusters'] for run in runs]}, behind the truth {min(behind):.1e} to {max(behind):.1e}"
        f" nats a row, {np.median([run['seconds'] for run in runs]):.1f} s",
        flush=True,
    )


def summarise(record: dict[str, list[dict[str, Any]]]) -> None:
    """Print the paper's claims beside ours."""
    claims = {
        "MO-BM (K = 1)": "all 10 runs find all 8",
        "full": "some runs miss components",
        "memoized": "like full or better, in fewer laps",
        "stochastic a": "even the best runs miss components",
        "stochastic b": "even the best runs miss components",
        "stochastic c": "even the best runs miss components",
        "GreedyMerge": "all runs collapse to 1",
    }
    lines = []
    for name, runs in record.items():
        right = sum(run["clusters"] == K and run["behind"] < CLOSE for run in runs)
        clusters, laps = [run["clusters"] for run in runs], [run["trace"]["lap"][-1] for run in runs]
        behind, seconds = [run["behind"] for run in runs], [run["seconds"] for run in runs]
        lines.append(
            (
                name,
                claims.get(name, ""),
                f"{right} of {len(runs)}",
                f"{min(run['found'] for run in runs)} to {max(run['found'] for run in runs)}",
                f"{min(clusters)} to {max(clusters)}",
                f"{np.median(behind):.1e} ({max(behind):.1e})",
                f"{np.median(laps):.0f}",
                f"{np.median(seconds):.1f} ({max(seconds):.1f})",
            )
        )
    common.table(
        (
            "method",
            "paper",
            "K = 8 at the truth's bound",
            "components found",
            "clusters",
            "behind the truth, nats a row: median (worst)",
            "laps",
            "seconds: median (worst)",
        ),
        lines,
    )


def draw(record: dict[str, list[dict[str, Any]]], models: dict[str, sb.DPMixture], truth: float) -> None:
    """Draw the traces (Fig. 2, top) and the covariances (bottom)."""
    from matplotlib.figure import Figure

    shown = ["MO-BM (K = 1)", "full", "memoized", "stochastic a", "GreedyMerge"]
    drawn = Figure(figsize=(12, 11), layout="constrained")
    above, below = np.asarray(drawn.subfigures(2, 1, height_ratios=[1, 1.35]))
    axes = above.subplots(2, 4, sharex=True, sharey=True)
    for ax, (name, runs) in zip(axes.flat, record.items(), strict=True):
        for run in runs:
            ax.plot(run["trace"]["lap"], run["trace"]["bound"], lw=1)
        ax.axhline(truth, color="black", lw=0.8, ls=":")
        ax.set_title(name, fontsize=10)
        ax.set_xscale("log")
        ax.set_ylim(truth - 6, truth + 0.4)
    above.supxlabel("lap (log scale)")
    above.supylabel("bound, nats a row; dotted: started at the truth")
    axes = below.subplots(len(shown) + 1, K)
    true = covariances()
    for k in range(K):
        axes[0, k].imshow(true[k], cmap="RdBu_r", vmin=-1, vmax=1)
        for row, name in enumerate(shown, start=1):
            at = found(models[name], true)[1][k]
            if at >= 0:
                axes[row, k].imshow(models[name].covariances_[at], cmap="RdBu_r", vmin=-1, vmax=1)
                axes[row, k].set_title(f"{models[name].weights_[at]:.3f}", fontsize=7, pad=2)
            else:
                axes[row, k].text(
                    0.5, 0.5, "x", ha="center", va="center", transform=axes[row, k].transAxes, fontsize=16
                )
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[:, 0], ["truth", *shown], strict=True):
        ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    below.suptitle("Covariances of one run each with their weights; x: no likeness found")
    common.figure("memoized-toy", drawn)


if __name__ == "__main__":
    main()
