"""Fit data that don't fit: 8,640,000 x 64 float32 rows on disk, K = 100, peak resident memory of the process.

    python benchmarks/out_of_core.py FOLDER [--rows 8640000] [--columns 64] [--clusters 100] [--laps 2] [--moves none]

The file is made first, in FOLDER, unless it is there; making it is not measured. The fit runs in a process of its own
whose peak resident set is read from the system (VmHWM; ru_maxrss would count the parent's memory too).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

CHILD = """
import json, re, sys, time
import numpy as np
import stickbreak as sb
path, clusters, laps, moves = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
begin = time.perf_counter()
options = {"n_components": clusters, "moves": moves, "max_iter": laps, "tol": 0, "random_state": 0, "verbose": 1}
model = sb.DPMixture(**options).fit(path)
print(json.dumps({
    "seconds": round(time.perf_counter() - begin, 1),
    "lap_ends": [round(lap.seconds, 1) for lap in model.history_],
    "bound_a_row": model.elbo_ / model.summary_.counts.sum(),
    "clusters": model.n_components_,
    "peak_mib": round(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024),
}))
"""


def make(path: Path, n: int, d: int, k: int) -> None:
    """Write rows of k Gaussians, a part at a time."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, d)) * 2
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    for low in range(0, n, 200_000):
        size = min(200_000, n - low)
        out[low : low + size] = centres[rng.integers(0, k, size)] + rng.standard_normal((size, d), dtype=np.float32)
    out.flush()


def main() -> None:
    """Make the data and fit them in a child process."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=8_640_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--laps", type=int, default=2)
    parser.add_argument("--moves", default="none", help="with births, --clusters 1 lets them find all")
    options = parser.parse_args()
    path = options.folder / f"rows-{options.rows}-{options.columns}.npy"
    if not path.exists():
        make(path, options.rows, options.columns, options.clusters)
    size = path.stat().st_size / 2**20
    command = [sys.executable, "-c", CHILD, str(path), str(options.clusters), str(options.laps), options.moves]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    print(json.dumps({"file_mib": round(size), **json.loads(child.stdout)}, indent=1))


if __name__ == "__main__":
    main()
