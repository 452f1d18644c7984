"""``stickbreak info``: models as text, as tables and as JSON."""

from __future__ import annotations

import json as json_format
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from stickbreak import DPMixture, load
from stickbreak.priors import LearnedConcentration
from stickbreak.report.tables import ClusterRow, describe_clusters

_MOST_CLUSTERS = 50
_PIPE_WIDTH = 120


def show_file(path: Path, *, json: bool) -> None:
    """Read a model and tell what it is."""
    model = load(path)
    if json:
        clusters = [asdict(row) for row in describe_clusters(model, most=5)]
        typer.echo(json_format.dumps({**facts(model), "clusters": clusters}, indent=2))
    else:
        show(model, path)


def facts(model: DPMixture) -> dict[str, Any]:
    """Collect what there is to say of a whole model, ready for JSON.

    Parameters
    ----------
    model : DPMixture
        A fitted model.

    Returns
    -------
    dict
        Plain values; None where something isn't known.
    """
    prior = model.prior_
    learned = isinstance(prior, LearnedConcentration)
    rows = float(model.summary_.counts.sum())
    bound = float(model.elbo_) if math.isfinite(model.elbo_) else None
    names = getattr(model, "feature_names_in_", None)
    return {
        "family": "mixed" if model.schema_ is not None else model.family_.name,
        "prior": prior.base.name if isinstance(prior, LearnedConcentration) else prior.name,
        "concentration": float(model.concentration_) if math.isfinite(model.concentration_) else None,
        "concentration_learned": learned,
        "columns": int(model.n_features_in_),
        "column_names": None if names is None else [str(name) for name in names],
        "rows": rows,
        "n_clusters": int(model.n_components_),
        "bound": bound,
        "bound_per_row": None if bound is None else bound / rows,
        "algorithm": model.algorithm,
        "laps": int(model.n_iter_),
        "converged": bool(model.converged_),
        "seconds": model.history_[-1].seconds if len(model.history_) else None,
    }


def show(model: DPMixture, path: Path) -> None:
    """Print a model: some lines about the whole, and a table of clusters."""
    console = to_stdout()
    for name, text in _lines(facts(model), path):
        console.print(f"{name:<14}{text}", soft_wrap=True)
    console.print()
    rows = describe_clusters(model)
    console.print(cluster_table(rows[:_MOST_CLUSTERS]))
    if len(rows) > _MOST_CLUSTERS:
        console.print(f"... and {len(rows) - _MOST_CLUSTERS} smaller clusters; --json lists all.")


def _lines(told: dict[str, Any], path: Path) -> list[tuple[str, str]]:
    learned = ", learned" if told["concentration_learned"] else ""
    concentration = "" if told["concentration"] is None else f", concentration {told['concentration']:.3g}{learned}"
    ended = "converged" if told["converged"] else "not converged"
    per_row = told["bound_per_row"]
    return [
        ("model", str(path)),
        ("family", f"{told['family']}, {told['columns']} columns"),
        ("prior", f"{told['prior']}{concentration}"),
        ("rows", f"{told['rows']:,.0f}"),
        ("clusters", str(told["n_clusters"])),
        (
            "bound",
            "not known: the fit was interrupted in its first lap" if per_row is None else f"{per_row:.6f} nats a row",
        ),
        ("laps", f"{told['laps']} ({told['algorithm']}), {ended}"),
    ]


def cluster_table(rows: list[ClusterRow]) -> Table:
    """Arrange clusters as a table for the terminal."""
    table = plain_table("cluster", "size", "weight")
    table.add_column("what sets it apart", overflow="fold")
    for row in rows:
        apart = "; ".join(row.distinguishing) or "nothing: it is like the whole"
        table.add_row(str(row.cluster), f"{row.size:,.0f}", f"{100 * row.weight:.1f}%", apart)
    return table


def plain_table(*numbers: str) -> Table:
    """Begin a table with columns of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def to_stdout() -> Console:
    """Open standard output for people; names from data are never taken for markup."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, markup=False, highlight=False, emoji=False)
