"""A million rows, 32 columns, 50 clusters, found from one cluster; peak memory, and what moves cost a lap.

    python experiments/memoized/million.py [--data FOLDER]

The rows are written to a .npy file in FOLDER (a temporary one by default) and read from there: the process never holds
them. The cost of moves is that of laps at K = 100 with nothing left to be found, with moves and without, in turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

import stickbreak as sb

N, D, K = 1_000_000, 32, 50
CHILD = """
import json, re, sys, time, warnings
import numpy as np
import stickbreak as sb
warnings.simplefilter("ignore")
begin = time.perf_counter()
model = sb.DPMixture(random_state=int(sys.argv[2]), max_iter=50, verbose=0).fit(sys.argv[1])
seconds = time.perf_counter() - begin
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
labels = model.predict(sys.argv[1])
print(json.dumps({
    "seconds": round(seconds, 1), "clusters": model.n_components_, "laps": model.n_iter_,
    "converged": model.converged_, "bound": model.elbo_ / len(labels), "peak_mib": round(peak),
    "growth": [lap.n_components for lap in model.history_], "labels": np.bincount(labels).tolist(),
}))
np.save(sys.argv[1] + ".labels.npy", labels)
"""


def make(path: Path, centres: np.ndarray, seed: int = 0) -> np.ndarray:
    """Write rows of K Gaussians, a part at a time, and return the component of each."""
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(K, D, D)) * 0.2 + np.eye(D)
    z = rng.integers(0, K, N)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(N, D))
    for low in range(0, N, 100_000):
        part = z[low : low + 100_000]
        noise = rng.standard_normal((len(part), D))
        for k in range(K):
            noise[part == k] = noise[part == k] @ shape[k].T
        out[low : low + len(part)] = centres[part] + noise
    out.flush()
    return z


def cost(runs: int) -> dict[str, Any]:
    """Time laps at K = 100 with moves and without, in turns, so that both see the same machine."""
    rng = np.random.default_rng(0)
    k, n, d = 100, 100_000, 32
    centres = rng.normal(size=(k, d)) * 2
    z = rng.integers(0, k, n)
    rows = centres[z] + rng.standard_normal((n, d))
    start = sb.DPMixture(init=z, moves="none", max_iter=30, tol=0).fit(rows)
    seconds: dict[str, list[float]] = {"none": [], "birth-merge": [], "births": []}
    births: list[int] = []
    for _ in range(runs):
        for moves in ("none", "birth-merge"):
            laps = 12
            fitted = sb.DPMixture(start.family_, init=start, moves=moves, max_iter=laps, tol=0, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted.fit(rows)
            ends = np.diff([lap.seconds for lap in fitted.history_])
            for lap, took in zip(fitted.history_[1:], ends.tolist(), strict=True):
                seconds["births" if lap.births_tried else moves].append(took)
                births.append(lap.births_tried)
    without, merging, bearing = (float(np.mean(seconds[which])) for which in ("none", "birth-merge", "births"))
    return {
        "lap_without": without,
        "lap_with": merging,
        "ratio": merging / without,
        "birth": (sum(seconds["births"]) - merging * len(seconds["births"])) / sum(births) / without,
        "lap_with_births": bearing,
    }


def main() -> None:
    """Make the data, run in child processes, print a table."""
    parser = common.options(__doc__)
    parser.set_defaults(runs=3)
    given = parser.parse_args()
    from sklearn.metrics import adjusted_rand_score

    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        path = Path(folder) / "million.npy"
        z = make(path, np.random.default_rng(1).normal(size=(K, D)) * 3)
        runs = []
        for seed in range(given.runs):
            child = subprocess.run(
                [sys.executable, "-c", CHILD, str(path), str(seed)], stdout=subprocess.PIPE, text=True, check=True
            )
            run = json.loads(child.stdout)
            run["agreement"] = adjusted_rand_score(z, np.load(f"{path}.labels.npy"))
            del run["labels"]
            runs.append(run)
            print({name: value for name, value in run.items() if name != "growth"}, flush=True)
    moves = cost(given.runs)
    common.table(
        ("seed", "clusters", "ARI", "laps", "seconds", "peak MiB", "file MiB"),
        [
            (seed, r["clusters"], f"{r['agreement']:.4f}", r["laps"], r["seconds"], r["peak_mib"], N * D * 4 >> 20)
            for seed, r in enumerate(runs)
        ],
    )
    common.table(
        ("K", "lap without moves, s", "with moves", "ratio", "wanted", "a birth tried, in laps without moves"),
        [
            (
                100,
                f"{moves['lap_without']:.3f}",
                f"{moves['lap_with']:.3f}",
                f"{moves['ratio']:.2f}",
                "1.3",
                f"{moves['birth']:.2f}",
            )
        ],
    )
    common.save("memoized-million", {"runs": runs, "cost": moves})


if __name__ == "__main__":
    main()
