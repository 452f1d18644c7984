"""``stickbreak predict``."""

from __future__ import annotations

from pathlib import Path

from stickbreak import load
from stickbreak.cli.output import ENDINGS, check_target, columns_of, print_tables, write_tables
from stickbreak.cli.rows import answers, open_for, split_names
from stickbreak.errors import OptionError
from stickbreak.estimators.fitting import counted
from stickbreak.learn.workers import count_jobs


def carry_out(
    model_path: Path,
    data: Path,
    out: Path | None,
    columns: str | None,
    *,
    probabilities: bool,
    scores: bool,
    jobs: int | None,
) -> None:
    """Assign rows, and write or print what was found."""
    names = split_names(columns)
    count_jobs(jobs)
    if out is not None:
        check_target(out, "--out", ENDINGS)
        _check_out(out, model_path, data, more=probabilities or scores)
    model = load(model_path)
    model.n_jobs = jobs
    with open_for(model, data, names) as source:
        tables = (columns_of(found, probabilities=probabilities) for found in answers(model, source, scores=scores))
        if out is None:
            print_tables(tables)
        else:
            write_tables(tables, out, counted(source))


def _check_out(out: Path, model_path: Path, data: Path, *, more: bool) -> None:
    if out.suffix.lower() == ".npy" and more:
        raise OptionError("a .npy file holds clusters alone; for --probabilities and --scores write .csv or .parquet.")
    if out.absolute() in {model_path.absolute(), data.absolute()}:
        raise OptionError(f"--out {out} would replace what is read.")
