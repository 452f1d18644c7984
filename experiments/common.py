"""What the experiments share: results with the commit they were made from, tables, and figures without a display."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import stickbreak as sb

mpl.use("Agg")
RESULTS = Path(__file__).resolve().parent / "results"


def options(description: str | None, *, data: str | None = None) -> argparse.ArgumentParser:
    """Begin an experiment's options; `data` says what it needs in the data folder."""
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=data is not None, help=data or "not needed: data are generated")
    parser.add_argument("--runs", type=int, default=10, help="runs of each method, with other seeds")
    return parser


def save(name: str, record: Mapping[str, Any]) -> None:
    """Write results beside the others, with the commit, versions and machine they came from."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607 - whatever git there is
        cwd=RESULTS,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    made = {
        "commit": commit,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "stickbreak": sb.__version__,
        "cores": len(os.sched_getaffinity(0)),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"made": made, **record}, default=_plain) + "\n")


def figure(name: str, drawn: Any) -> None:
    """Write a figure beside the results."""
    RESULTS.mkdir(exist_ok=True)
    drawn.savefig(RESULTS / f"{name}.png", dpi=110)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print("\n| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def trace(model: sb.DPMixture, n_rows: int) -> dict[str, list[Any]]:
    """Laps, seconds, clusters and nats a row of a fit, where the bound was evaluated."""
    laps = [lap for lap in model.history_ if lap.elbo is not None]
    return {
        "lap": [lap.lap for lap in laps],
        "seconds": [round(lap.seconds, 3) for lap in laps],
        "clusters": [lap.n_components for lap in laps],
        "bound": [round(lap.elbo / n_rows, 7) for lap in laps if lap.elbo is not None],
    }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)
