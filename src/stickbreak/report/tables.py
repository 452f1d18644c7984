"""A row a cluster: how large it is, and what sets it apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stickbreak.report.contrasts import Contrast, contrasts


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """What there is to say about a cluster.

    Parameters
    ----------
    cluster : int
        Its number, as in ``labels_``.
    size : float
        Rows (or weight) that it is expected to hold.
    weight : float
        Its expected share of the clusters found.
    distinguishing : tuple of str
        The columns that set it apart, the strongest first; empty if it is like the whole.
    """

    cluster: int
    size: float
    weight: float
    distinguishing: tuple[str, ...]


def describe_clusters(model: Any, most: int = 3) -> list[ClusterRow]:
    """Describe a fitted model's clusters.

    A column sets a cluster apart if its mean (rate, probability) there is far from that of the whole data, in standard
    deviations of the whole data.

    Parameters
    ----------
    model : DPMixture
        A fitted model of any family.
    most : int, default=3
        How many columns to name.

    Returns
    -------
    list of ClusterRow
        The clusters, in the order of their numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stickbreak import DPMixture
    >>> iris = load_iris(as_frame=True)
    >>> model = DPMixture(n_components=2, random_state=0).fit(iris.data)
    >>> describe_clusters(model, most=1)[1].distinguishing
    ('petal length (cm) -1.3 sd',)
    """
    check_is_fitted(model, "summary_")
    found = contrasts(model)
    return [
        ClusterRow(k, float(size), float(weight), _strongest(found, k, most))
        for k, (size, weight) in enumerate(zip(model.summary_.counts, model.weights_, strict=True))
    ]


def _strongest(found: list[Contrast], k: int, most: int) -> tuple[str, ...]:
    candidates = []
    for contrast in found:
        strength = contrast.strength[k]
        top = np.argsort(-strength, kind="stable")[:most]
        candidates += [(float(strength[j]), contrast.words, int(j)) for j in top if strength[j] > 0]
    candidates.sort(key=lambda c: -c[0])
    return tuple(words(k, j) for _, words, j in candidates[:most])
