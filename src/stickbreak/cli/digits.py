"""The demo's data: images of handwritten digits, as the few numbers in which they differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickbreak.cli.output import Table, write_tables
from stickbreak.core.arrays import Floats, Ints

N_COMPONENTS = 12


@dataclass(frozen=True, slots=True)
class Digits:
    """Images, and their principal components.

    Parameters
    ----------
    rows : ndarray of shape (n, 12)
        What is clustered.
    truth : ndarray of shape (n,)
        The digits that people read, 0 to 9; only for judging.
    pca : PCA
        The way back from rows to images.
    """

    rows: Floats
    truth: Ints
    pca: Any

    @classmethod
    def load(cls) -> Digits:
        """Read the images that scikit-learn carries."""
        from sklearn.datasets import load_digits
        from sklearn.decomposition import PCA

        images, truth = load_digits(return_X_y=True)
        pca = PCA(N_COMPONENTS, random_state=0)
        return cls(pca.fit_transform(images), np.asarray(truth), pca)

    def write(self, path: Path) -> None:
        """Write the rows as CSV, so that the other commands have something to be tried on."""
        table: Table = {f"pc{j}": column for j, column in enumerate(self.rows.T, start=1)}
        write_tables([table], path, len(self.rows))

    def images(self, means: Floats) -> Floats:
        """Turn means of rows into mean images, of shape (K, 8, 8)."""
        return np.asarray(self.pca.inverse_transform(means)).reshape(-1, 8, 8)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A cluster held against the truth.

    Parameters
    ----------
    cluster, size : int
        Its number, and how many rows are assigned to it.
    digit : int
        The digit it holds most of.
    purity : float
        That digit's share of it.
    others : tuple of (int, int)
        The next two digits, and how many rows of each.
    """

    cluster: int
    size: int
    digit: int
    purity: float
    others: tuple[tuple[int, int], ...]


def judge(labels: Ints, truth: Ints) -> list[Verdict]:
    """Hold clusters against the truth.

    Examples
    --------
    >>> judge(np.array([0, 0, 0, 1]), np.array([7, 7, 1, 2]))[0]
    Verdict(cluster=0, size=3, digit=7, purity=0.666..., others=((1, 1),))
    """
    verdicts = []
    for k in np.unique(labels).tolist():
        counts = np.bincount(truth[labels == k], minlength=10)
        order = np.argsort(-counts, kind="stable")[:3].tolist()
        size = int(counts.sum())
        others = tuple((digit, int(counts[digit])) for digit in order[1:] if counts[digit] > 0)
        verdicts.append(Verdict(k, size, order[0], float(counts[order[0]]) / size, others))
    return verdicts


def agreement(labels: Ints, truth: Ints) -> tuple[float, float]:
    """Compute the adjusted Rand index and the normalised mutual information."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    return float(adjusted_rand_score(truth, labels)), float(normalized_mutual_info_score(truth, labels))


def most_common(verdicts: Sequence[Verdict]) -> set[int]:
    """Digits that some cluster holds most of."""
    return {verdict.digit for verdict in verdicts}
