"""How far each cluster's columns lie from the whole data's, in one measure for all kinds of columns.

The measure is the difference of the cluster's mean (or rate, or probability) from the weighted mean of all clusters, in
standard deviations of the whole data. Both follow from the model alone: the data aren't read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickbreak.core.arrays import Floats

LEAST_SD = 0.3
"""A difference below so many standard deviations sets nothing apart."""

LEAST_LIFT = 1.25
"""Nor does a share, or a spread, that is less than so many times the overall one (or more than its inverse)."""

_BEHIND = 1e-3
"""Differences in spread are told after all differences in means."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """How much each of some columns sets each cluster apart.

    Parameters
    ----------
    strength : ndarray of shape (K, J)
        In standard deviations; 0 where there is nothing to tell.
    words : callable
        Puts the contrast of a cluster and a column, given by their numbers, in words.
    """

    strength: Floats
    words: Callable[[int, int], str]


def contrasts(model: Any) -> list[Contrast]:
    """Compare a fitted model's clusters with the whole.

    Parameters
    ----------
    model : DPMixture
        A fitted model of any family.

    Returns
    -------
    list of Contrast
        One or more for each kind of column.

    Examples
    --------
    >>> import numpy as np
    >>> from stickbreak import DPMixture
    >>> X = np.repeat([[0.0], [10.0]], 50, axis=0) + np.linspace(-1, 1, 100)[:, None]
    >>> [found, spread] = contrasts(DPMixture(n_components=2, random_state=0).fit(X))
    >>> sorted(found.words(k, 0) for k in range(2))
    ['column 0 +1.0 sd', 'column 0 -1.0 sd']
    """
    return list(_each(model))


def _each(model: Any) -> Iterator[Contrast]:
    schema = getattr(model, "schema_", None)
    for part in _parts(model):
        names = column_names(model, part["columns"])
        if "means" in part:
            yield from _gaussian(part, model.weights_, names)
        elif "rates" in part:
            yield _counts(part["rates"], model.weights_, names)
        elif "category_probabilities" in part:
            levels = None if schema is None else [schema.categories[c] for c in part["columns"]]
            yield _categories(part["category_probabilities"], model.weights_, names, levels)
        elif part["family"] == "multinomial":
            yield _words(part["probabilities"], model.weights_, names)
        else:
            yield _flags(part["probabilities"], model.weights_, names)


def _parts(model: Any) -> list[dict[str, Any]]:
    """What the family tells of its clusters, in the form that a product of families has."""
    if hasattr(model, "parts_"):
        return list(model.parts_)
    told = ("means", "covariances", "variances", "probabilities", "rates", "category_probabilities")
    one = {name: getattr(model, f"{name}_") for name in told if hasattr(model, f"{name}_")}
    return [{"columns": tuple(range(model.n_features_in_)), "family": model.family_.name, **one}]


def column_names(model: Any, columns: Sequence[int]) -> list[str]:
    """Name columns as the data did, or by their numbers."""
    schema = getattr(model, "schema_", None)
    names = getattr(model, "feature_names_in_", None if schema is None else schema.names)
    return [f"column {c}" if names is None else str(names[c]) for c in columns]


def _gaussian(part: dict[str, Any], weights: Floats, names: list[str]) -> Iterator[Contrast]:
    """Differences in means and, for what those leave untold, in spread."""
    means = part["means"]
    within = part["variances"] if "variances" in part else np.diagonal(part["covariances"], axis1=1, axis2=2)
    centre = weights @ means
    sd = np.sqrt(weights @ (within + (means - centre) ** 2))
    away = _divided(means - centre, sd)
    ratio = _divided(np.sqrt(within), sd)
    yield Contrast(_above(np.abs(away), LEAST_SD), lambda k, j: f"{names[j]} {away[k, j]:+.1f} sd")
    lift = np.abs(np.log(np.maximum(ratio, 1e-300)))
    yield Contrast(_BEHIND * _above(lift, np.log(LEAST_LIFT)), lambda k, j: f"{names[j]} spread x{ratio[k, j]:.2g}")


def _counts(rates: Floats, weights: Floats, names: list[str]) -> Contrast:
    centre = weights @ rates
    sd = np.sqrt(weights @ (rates + (rates - centre) ** 2))
    strength = _above(np.abs(_divided(rates - centre, sd)), LEAST_SD)
    return Contrast(strength, lambda k, j: f"{names[j]} {rates[k, j]:.2g} (overall {centre[j]:.2g})")


def _flags(shares: Floats, weights: Floats, names: list[str]) -> Contrast:
    centre = weights @ shares
    strength = _above(np.abs(_share_distance(shares, centre)), LEAST_SD)
    return Contrast(strength, lambda k, j: f"{names[j]} {percent(shares[k, j])} (overall {percent(centre[j])})")


def _categories(columns: list[Floats], weights: Floats, names: list[str], levels: list[Any] | None) -> Contrast:
    """Of each column the category that is over-represented most."""
    centres = [weights @ shares for shares in columns]
    away = [_share_distance(shares, c) for shares, c in zip(columns, centres, strict=True)]
    top = np.stack([a.argmax(axis=1) for a in away], axis=1)
    strength = np.stack([a.max(axis=1) for a in away], axis=1)

    def words(k: int, j: int) -> str:
        code = int(top[k, j])
        value = code if levels is None or levels[j] is None else levels[j][code]
        return f"{names[j]}={value} {percent(columns[j][k, code])} (overall {percent(centres[j][code])})"

    return Contrast(_above(strength, LEAST_SD), words)


def _words(shares: Floats, weights: Floats, names: list[str]) -> Contrast:
    """Words by what they add to the divergence from the whole: lift alone would favour those that hardly occur."""
    centre = weights @ shares
    lift = _divided(shares, centre)
    gain = shares * np.log(np.maximum(lift, 1.0))
    return Contrast(np.where(lift >= LEAST_LIFT, gain, 0.0), lambda k, j: f"{names[j]} x{lift[k, j]:.2g}")


def _share_distance(shares: Floats, centre: Floats) -> Floats:
    return _divided(shares - centre, np.sqrt(centre * (1 - centre)))


def _divided(a: Floats, b: Floats) -> Floats:
    """Quotients, 0 where the divisor is 0: a column that never varies sets nothing apart."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 0))


def _above(values: Floats, least: float) -> Floats:
    return np.where(values >= least, values, 0.0)


def percent(share: float) -> str:
    """Write a share as a percentage without false zeros.

    Examples
    --------
    >>> percent(0.832), percent(0.001), percent(0.9999), percent(1.0)
    ('83%', '<1%', '>99%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 < share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"
