"""Rows from files, and what a model says of them, piece by piece: memory stays small however large the file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.core.mixture import Mixture
from stickbreak.data import Piece, Source, infer_schema, open_source, profile
from stickbreak.data.files import is_table
from stickbreak.errors import OptionError
from stickbreak.estimators.entry import opened
from stickbreak.learn.workers import Crew, tasks

if TYPE_CHECKING:
    from stickbreak import DPMixture


def split_names(text: str | None) -> list[str] | None:
    """Read names of columns given as ``a,b,c``, quoted as in CSV where they hold commas.

    Examples
    --------
    >>> split_names('age, city,"height, cm"')
    ['age', 'city', 'height, cm']
    """
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not all(names) or not names:
        raise OptionError(f"--columns {text!r} must be names of columns with commas between them.")
    return names


def open_for_fit(path: Path, columns: list[str] | None, *, mixed: bool) -> Source:
    """Open a file that will be learned from; for a mixed family, find out first what its columns are."""
    return open_source(path, columns=columns, schema=infer_schema(path, columns=columns) if mixed else None)


def open_for(model: DPMixture, path: Path, columns: list[str] | None) -> Source:
    """Open a file for a fitted model; of a table, by default, the columns that the model knows."""
    names = getattr(model, "feature_names_in_", None)
    if columns is None and names is not None and is_table(path):
        columns = [str(name) for name in names]
    return open_source(path, columns=columns, schema=model.schema_)


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model says of some consecutive rows.

    Parameters
    ----------
    cluster : ndarray of shape (n,)
        Most probable clusters.
    probability : ndarray of shape (n,)
        Their probabilities.
    each : ndarray of shape (n, K)
        Probabilities of all clusters.
    log_density : ndarray of shape (n,) or None
        Log posterior predictive densities, if asked for.
    """

    cluster: Ints
    probability: Floats
    each: Floats
    log_density: Floats | None


def answers(model: DPMixture, source: Source, *, scores: bool = False) -> Iterator[Answers]:
    """Ask a fitted model about all rows, in order, in one pass.

    Parameters
    ----------
    model : DPMixture
        A fitted model.
    source : Source
        Rows; checked first as `DPMixture.predict` does.
    scores : bool
        Whether to compute log densities.

    Yields
    ------
    Answers
        A few thousand rows at a time.
    """
    mixture = Mixture(model.family_, model.prior_)
    posterior = mixture.posterior(model.summary_)
    limit = model.resp_per_row or np.iinfo(np.int64).max
    k = model.n_components_
    step = mixture.tile_rows(k)

    with opened(model, source, model.family_, reset=False) as (rows_of, family), Crew(model.n_jobs) as crew:

        def one(task: Piece) -> list[Answers]:
            return [tile(task.rows[low : low + step]) for low in range(0, task.rows.shape[0], step)]

        def tile(rows: Rows) -> Answers:
            resp = mixture.assign(rows, np.ones(rows.shape[0]), posterior, limit, crew.workspace)[1].toarray(k)
            density = mixture.log_density(rows, model.summary_) if scores else None
            return Answers(resp.argmax(axis=1), resp.max(axis=1), resp, density)

        family.accept(profile(rows_of))
        for found in crew.in_order(one, tasks(rows_of.pieces(), step)):
            yield from found
