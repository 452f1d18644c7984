"""``stickbreak fit``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from stickbreak import Checkpoint, DPMixture
from stickbreak.cli.output import ENDINGS, check_target, columns_of, write_tables
from stickbreak.cli.rows import answers, open_for_fit, split_names
from stickbreak.cli.show import show
from stickbreak.cli.trouble import STOPPED, say
from stickbreak.data import Source
from stickbreak.errors import OptionError
from stickbreak.estimators.checkpoint import read_checkpoint
from stickbreak.estimators.fitting import counted
from stickbreak.estimators.options import read_options


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for.

    Parameters
    ----------
    data, out : Path
        Where the rows are and where the model goes.
    options : dict
        The estimator's options as they were typed.
    columns : str or None
        Names of columns, with commas between them.
    assignments, checkpoint : Path or None
        More files to write.
    checkpoint_seconds : float or None
        How often to write the checkpoint.
    quiet : bool
        Whether to say nothing.
    """

    data: Path
    out: Path
    options: dict[str, Any]
    columns: str | None
    assignments: Path | None
    checkpoint: Path | None
    checkpoint_seconds: float | None
    quiet: bool


def carry_out(order: Order) -> None:
    """Fit, save, assign, show."""
    names = split_names(order.columns)
    model = _estimator(order)
    checkpoint = _check(order)
    with open_for_fit(order.data, names, mixed=order.options["family"] == "mixed") as source:
        model.fit(source, checkpoint=checkpoint)
        model.save(order.out)
        if model.interrupted_:
            _tell_stopped(model, order)
        if order.assignments is not None:
            _assign(model, source, order, order.assignments)
    if not order.quiet:
        show(model, order.out)


def _estimator(order: Order) -> DPMixture:
    """Make the estimator and let it check its options, before a large file is opened."""
    options = dict(order.options)
    options["concentration"] = _number(options["concentration"], float)
    options["n_blocks"] = _number(options["n_blocks"], int)
    model = DPMixture(**options, verbose=0 if order.quiet else 1)
    read_options(model)
    return model


def _number(text: str, kind: Callable[[str], float]) -> Any:
    """Read a number; a word is left for the library to know."""
    try:
        return kind(text)
    except ValueError:
        return text


def _check(order: Order) -> Checkpoint | None:
    """Check all files that will be written."""
    check_target(order.out, "--out")
    if order.assignments is not None:
        check_target(order.assignments, "--assignments", ENDINGS)
    if order.checkpoint is None and order.checkpoint_seconds is not None:
        raise OptionError("--checkpoint-seconds needs --checkpoint FILE.")
    given = {
        "--out": order.out,
        "--assignments": order.assignments,
        "--checkpoint": order.checkpoint,
        "DATA": order.data,
    }
    seen: dict[Path, str] = {}
    for option, path in given.items():
        if path is not None and (other := seen.setdefault(path.absolute(), option)) != option:
            raise OptionError(f"{other} and {option} are the same file, {path}.")
    if order.checkpoint is None:
        return None
    return read_checkpoint(Checkpoint(order.checkpoint, every_seconds=order.checkpoint_seconds))


def _tell_stopped(model: DPMixture, order: Order) -> None:
    say(f"interrupted: the model as it was after {model.n_iter_} full laps is saved in {order.out}.")
    if order.assignments is not None:
        say(f"{order.assignments} was not written; `stickbreak predict {order.out} {order.data}` makes one.")
    raise typer.Exit(STOPPED)


def _assign(model: DPMixture, source: Source, order: Order, path: Path) -> None:
    tables = (columns_of(found, probabilities=False) for found in answers(model, source))
    try:
        write_tables(tables, path, counted(source))
    except KeyboardInterrupt:
        _tell_stopped(model, order)
