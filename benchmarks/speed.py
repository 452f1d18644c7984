"""Seconds per pass beside scikit-learn's BayesianGaussianMixture, on the same data with the same K and threads.

    python benchmarks/speed.py [--only 0 2] [--json FILE]

Both do one full pass (local step, summary step, global step, bound) over rows of well separated or overlapping
Gaussians, full covariance, Dirichlet-process weights. scikit-learn runs with BLAS threads at 1 and at 2 and its better
time counts. The fraction of peak is the multiply-adds that the dense local step asks for, N K (D^2 + 3 D + 2) / 2, over
the time that it took and the machine's measured matrix-multiply peak in the same run; above 64 columns most of those
are never done.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

import stickbreak as sb
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace

CASES = [
    (100_000, 25, 25, 10),
    (60_000, 50, 100, 10),
    (1_000_000, 16, 20, 5),
    (20_000, 300, 20, 5),
    (1_000_000, 2, 10, 5),
]
"""N, D, K and the factor to reach."""
THREADS = 2


def best_of(n: int, work: Callable[[], Any]) -> float:
    """Shortest of n times."""
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def peak(threads: int) -> float:
    """Matrix-multiply peak in flops a second."""
    a, b = np.random.default_rng(0).random((2, 2000, 2000))
    with threadpool_limits(threads):
        return 2 * 2000**3 / best_of(7, lambda: a @ b)


def rows(n: int, d: int, k: int, apart: float) -> np.ndarray:
    """Rows of k Gaussians of unit spread."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, d)) * apart
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def sklearn_pass(x: np.ndarray, k: int) -> float:
    """Time a pass of scikit-learn at its better BLAS setting."""
    times = []
    for threads in (1, THREADS):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BayesianGaussianMixture(
                n_components=k, covariance_type="full", init_params="random_from_data", max_iter=1, random_state=0
            ).fit(x)

            def one_pass(model: Any = model) -> None:
                log_norm, log_resp = model._e_step(x)  # noqa: SLF001
                model._m_step(x, log_resp)  # noqa: SLF001
                model._compute_lower_bound(log_resp, log_norm)  # noqa: SLF001

            times.append(best_of(2, one_pass))
    return min(times)


def our_pass(x: np.ndarray, k: int, n_blocks: Any) -> tuple[float, float, sb.DPMixture]:
    """Time a lap of ours, the first left out, and the whole fit of five laps."""
    ends: list[float] = []
    model = sb.DPMixture(
        n_components=k,
        moves="none",
        n_blocks=n_blocks,
        max_iter=6,
        tol=0,
        random_state=0,
        n_jobs=THREADS,
        callbacks=lambda _: ends.append(time.perf_counter()),
    )
    begin = time.perf_counter()
    model.fit(x)
    return float(np.diff(ends).min()), ends[-1] - begin, model


def local_step_seconds(x: np.ndarray, model: sb.DPMixture) -> float:
    """Time the local step alone (statistics and scores) on one thread, over a tenth of the rows."""
    mixture = Mixture(model.family_, model.prior_)
    posterior, space = mixture.posterior(model.summary_), Workspace()
    part, step = x[: max(len(x) // 10, 2000)], mixture.tile_rows(model.n_components_)

    def local() -> None:
        for low in range(0, len(part), step):
            encoded = mixture.family.encode(part[low : low + step], space)
            mixture.family.scores(posterior.scorer, encoded, posterior.log_weights, space)

    with threadpool_limits(1):
        local()
        return best_of(5, local) * len(x) / len(part)


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the cases to run")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    top = {threads: peak(threads) for threads in (1, THREADS)}
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    print(f"matrix-multiply peak: {top[1] / 1e9:.0f} Gflop/s on one thread, {top[THREADS] / 1e9:.0f} on {THREADS}")
    head = "N D K apart | scikit-learn | ours: full  memoized | factor (wanted) | local step of peak | extra MiB"
    print(head)
    results = []
    our_pass(rows(5000, 3, 3, 3.0), 3, 1)  # compiled code is loaded
    for number in options.only or range(len(CASES)):
        n, d, k, wanted = CASES[number]
        for apart in (3.0, 0.5):
            x = rows(n, d, k, apart)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            full, _, model = our_pass(x, k, 1)
            memoized, _, _ = our_pass(x, k, "auto")
            extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            peer = sklearn_pass(x, k)
            work = n * model.n_components_ * (d * d + 3 * d + 2)
            fraction = work / local_step_seconds(x, model) / top[1]
            print(
                f"{n} {d} {k} {apart} | {peer:.3f} | {full:.3f}  {memoized:.3f} | {peer / full:.1f} ({wanted}) | "
                f"{fraction:.2f} | {extra:.0f}",
                flush=True,
            )
            results.append(
                {
                    "n": n,
                    "d": d,
                    "k": k,
                    "apart": apart,
                    "scikit_learn": peer,
                    "full": full,
                    "memoized": memoized,
                    "factor": peer / full,
                    "wanted": wanted,
                    "local_of_peak": fraction,
                    "extra_mib": extra,
                }
            )
    if options.json:
        options.json.write_text(json.dumps({"peak_gflops": {t: p / 1e9 for t, p in top.items()}, "cases": results}))


if __name__ == "__main__":
    main()
