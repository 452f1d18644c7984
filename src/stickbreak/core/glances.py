"""Compiled loops over a tile's responsibilities: what moves want to know of them besides their sums.

Merging clusters a and b makes ``r_a + r_b`` of their two responsibilities of a row, and the entropy of the assignments
falls by ``f(r_a, r_b) = (r_a + r_b) log(r_a + r_b) - r_a log r_a - r_b log r_b``, summed over the rows that both have a
part in (Hughes & Sudderth 2013, section 3.2, where ``H_ab`` is what is left). It is never negative, and zero where
either responsibility is: kept sparse, a row costs what its own few clusters cost.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numba
import numpy as np

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.kernels import Responsibilities

_compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


def add_overlaps(resp: Responsibilities, number: Ints, out: Floats) -> None:
    """Add to ``out`` (M,) what each pair's merge would take from the entropy.

    Parameters
    ----------
    resp : Responsibilities
        Of some rows, their weights in them.
    number : ndarray of shape (K, K)
        Each pair's place in `out`, or -1 for pairs nobody asks about; symmetric.
    out : ndarray of shape (M,)
        Added to.
    """
    _add_overlaps(resp.start, resp.cluster, resp.value, number, out)


@_compiled
def _add_overlaps(start, cluster, value, number, out):  # type: ignore[no-untyped-def]  # noqa: ANN202
    own = np.empty(len(number))
    for i in range(len(start) - 1):
        first = start[i]
        for j in range(first, start[i + 1]):
            own[j - first] = value[j] * np.log(value[j])
        for j in range(first, start[i + 1]):
            numbers = number[cluster[j]]
            for other in range(j + 1, start[i + 1]):
                place = numbers[cluster[other]]
                if place >= 0:
                    both = value[j] + value[other]
                    out[place] += both * np.log(both) - own[j - first] - own[other - first]


def pick_rows(
    resp: Responsibilities, weight: Floats, numbers: Ints, target: Ints, chance: Floats, seed: Ints, threshold: float
) -> tuple[Ints, Ints, Floats]:
    """Pick rows that belong to targeted clusters by more than a threshold, each by a lot of its own.

    A row's lot depends on its number in the data and on the seed alone, not on who looks at it when.

    Parameters
    ----------
    resp : Responsibilities
        Of n rows.
    weight : ndarray of shape (n,)
        Weight of each row.
    numbers : ndarray of shape (n,)
        Each row's number in the data.
    target : ndarray of shape (K,)
        Number of the target that each cluster is, or -1.
    chance : ndarray of shape (T,)
        Probability with which a row that qualifies is picked.
    seed : ndarray of shape (T,)
        Of each target's lots.
    threshold : float
        Least responsibility, tau (supplement eq. 23).

    Returns
    -------
    tuple of three ndarrays
        Positions of the rows picked, the target each is picked for, its responsibility.
    """
    room = min(int(1 / threshold) + 1, len(chance)) * resp.n_rows
    row, which, share = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    found = _pick_rows(
        resp.start, resp.cluster, resp.value, weight, numbers, target, chance, seed.view(np.uint64), threshold,
        row, which, share,
    )  # fmt: skip
    return row[:found], which[:found], share[:found]


@_compiled
def _pick_rows(start, cluster, value, weight, numbers, target, chance, seed, threshold, row, which, share):  # type: ignore[no-untyped-def]  # noqa: ANN202
    found = 0
    for i in range(len(start) - 1):
        for j in range(start[i], start[i + 1]):
            t = target[cluster[j]]
            if t >= 0 and value[j] > threshold * weight[i] and _lot(seed[t], numbers[i]) < chance[t]:
                row[found] = i
                which[found] = t
                share[found] = value[j] / weight[i]
                found += 1
    return found


@_compiled
def _lot(seed, number):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Uniform number in [0, 1) from a seed and a row's number: SplitMix64's finaliser (Steele et al. 2014)."""
    z = seed + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
