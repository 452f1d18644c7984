"""Compiled loops: where a profile showed that NumPy's passes over memory were the cost.

`sparse_softmax` turns scores into responsibilities and keeps of each row only those that a double can tell from zero:
with ``r < e^-40`` of the largest left out, the sum that normalises a row is the same to its last bit, and summaries
cost what the clusters that matter cost. The plain versions are in the tests, as oracles.
"""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.workspace import Workspace

SUPPORT = 40.0
"""Nats under a row's best score beyond which a cluster's part in the row is exactly zero."""

_UNPACKED = 1_000_000
"""Multiply-adds up to which OpenBLAS multiplies matrices as they lie; larger ones it first packs."""

_compiled = numba.njit(nogil=True, cache=True, error_model="numpy")
_compiled_loosely = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
"""Sums may be taken in another order, by vectors."""


class Responsibilities(NamedTuple):
    """Assignments of n rows to K clusters, row by row, in compressed form.

    ``cluster[start[i]:start[i + 1]]`` are the clusters that row i belongs to and ``value`` how much (the row's weight
    times its responsibilities).
    """

    start: Ints
    cluster: Ints
    value: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    def toarray(self, n_clusters: int) -> Floats:
        """Spread to a dense array of shape (n, K)."""
        out = np.zeros((self.n_rows, n_clusters))
        _spread(self.start, self.cluster, self.value, out)
        return out

    def between(self, low: int, high: int) -> Responsibilities:
        """Assignments of the rows from `low` up to `high`."""
        a, b = self.start[low], self.start[high]
        return Responsibilities(self.start[low : high + 1] - a, self.cluster[a:b], self.value[a:b])

    def row_sums(self) -> Floats:
        """Sum of each row's values: its weight."""
        sums = np.add.reduceat(np.append(self.value, 0.0), self.start[:-1])
        return np.where(np.diff(self.start) > 0, sums, 0.0)

    @classmethod
    def from_dense(cls, values: Floats) -> Responsibilities:
        """Compress a dense array, leaving zeros out."""
        row, cluster = np.nonzero(values)
        start = np.searchsorted(row, np.arange(len(values) + 1))
        return cls(start.astype(np.int64), cluster.astype(np.int64), np.ascontiguousarray(values[row, cluster]))


def sparse_softmax(
    scores: Floats, weight: Floats, limit: int, entropy: Floats, workspace: Workspace
) -> Responsibilities:
    """Normalise each row of scores (Hughes & Sudderth 2013, eq. 9), keeping at most ``limit`` clusters a row.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Log responsibilities up to a constant a row.
    weight : ndarray of shape (n,)
        Weight of each row.
    limit : int
        Keep only this many of a row's largest responsibilities; K keeps all that are not negligible.
    entropy : ndarray of shape (K,)
        The weighted entropy ``-sum_n w_n r_nk log r_nk`` is added to it.
    workspace : Workspace
        Holds the result until it is used for the next rows.

    Returns
    -------
    Responsibilities
        Weighted responsibilities; none for rows of weight zero.
    """
    n, n_clusters = scores.shape
    limit = min(limit, n_clusters)
    start = np.empty(n + 1, np.int64)
    cluster = workspace.array("cluster", (n * limit,)).view(np.int64)
    value = workspace.array("value", (n * limit,))
    below = workspace.array("below", (n_clusters, n))
    np.copyto(below, scores.T)
    _subtract_tops(below)
    # NumPy's exponential works on whole vectors: all of them cost less than those that matter one by one, unless they
    # underflow.
    power = np.maximum(below, -SUPPORT, out=workspace.array("power", below.shape))
    np.exp(power, out=power)
    _normalise(below, power, weight, limit, start, cluster, value, entropy)
    used = start[-1]
    return Responsibilities(start, cluster[:used], value[:used])


@_compiled
def _subtract_tops(scores):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Subtract from each row's scores (K, n) the largest."""
    n_clusters, n = scores.shape
    tops = scores[0].copy()
    for k in range(1, n_clusters):
        for i in range(n):
            tops[i] = max(tops[i], scores[k, i])
    for k in range(n_clusters):
        for i in range(n):
            scores[k, i] -= tops[i]


@_compiled
def _normalise(below, power, weight, limit, start, cluster, value, entropy):  # type: ignore[no-untyped-def]  # noqa: ANN202
    n_clusters, n = below.shape
    kept = 0
    start[0] = 0
    for i in range(n):
        first = kept
        if weight[i] > 0.0:
            for k in range(n_clusters):
                if below[k, i] > -SUPPORT:
                    if kept - first < limit:
                        cluster[kept] = k
                        value[kept] = power[k, i]
                        kept += 1
                    else:
                        _make_room(cluster[first:kept], value[first:kept], k, power[k, i])
        norm = 0.0
        for j in range(first, kept):
            norm += value[j]
        log_norm = np.log(norm)
        share = weight[i] / norm
        for j in range(first, kept):
            k = cluster[j]
            value[j] *= share
            entropy[k] -= value[j] * (below[k, i] - log_norm)
        start[i + 1] = kept


@_compiled
def _make_room(cluster, value, k, power):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Let cluster k take the place of the smallest if it is larger; among equals the earlier cluster stays."""
    smallest = 0
    for j in range(1, len(value)):
        if value[j] <= value[smallest]:
            smallest = j
    if power <= value[smallest]:
        return
    for j in range(smallest, len(value) - 1):
        cluster[j] = cluster[j + 1]
        value[j] = value[j + 1]
    cluster[-1] = k
    value[-1] = power


def sheaf_rows(n_clusters: int, width: int) -> int:
    """Rows to multiply with a (K, width) matrix at once: with few clusters, packing costs as much as the product.

    Zero where parts small enough not to be packed would be too small to be worth a call each.
    """
    rows = _UNPACKED // (n_clusters * width) // 16 * 16
    return min(rows, 96) if rows >= 48 and width >= 32 else 0


def score_dense(stats: Floats, across: Floats, out: Floats) -> None:
    """Write ``stats @ across`` to ``out``, for ``across`` of shape (P, K)."""
    rows = sheaf_rows(across.shape[1], across.shape[0])
    done = len(stats) // rows * rows if rows else 0
    if done:
        sheaves = out[:done].reshape(-1, rows, out.shape[1])
        np.matmul(stats[:done].reshape(-1, rows, stats.shape[1]), across, out=sheaves)
    np.matmul(stats[done:], across, out=out[done:])


def collect_dense(stats: Floats, resp: Responsibilities, out: Floats) -> None:
    """Add statistics summed by responsibilities, ``R.T @ T``, to ``out``, by whichever of two ways is cheaper."""
    # Row by row costs what the kept responsibilities cost; a matrix product is some five times faster a number.
    if 5 * len(resp.value) > resp.n_rows * len(out):
        _add_product(resp.toarray(len(out)), stats, out)
    else:
        _collect_dense(stats, resp.start, resp.cluster, resp.value, out)


def _add_product(resp: Floats, stats: Floats, out: Floats) -> None:
    rows = sheaf_rows(*out.shape)
    done = len(stats) // rows * rows if rows else 0
    if done:
        r, t = resp[:done].reshape(-1, rows, len(out)), stats[:done].reshape(-1, rows, out.shape[1])
        out += (r.transpose(0, 2, 1) @ t).sum(axis=0)
    if done < len(stats):
        out += resp[done:].T @ stats[done:]


@_compiled
def _collect_dense(stats, start, cluster, value, out):  # type: ignore[no-untyped-def]  # noqa: ANN202
    n, width = stats.shape
    for i in range(n):
        for j in range(start[i], start[i + 1]):
            r = value[j]
            row, to = stats[i], out[cluster[j]]
            for p in range(width):
                to[p] += r * row[p]


@_compiled_loosely
def squared_lengths(rows, offset, out):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Add each row's squared distance from the offset to ``out``."""
    n, d = rows.shape
    for i in range(n):
        total = (rows[i, 0] - offset[0]) ** 2
        for j in range(1, d):
            total += (rows[i, j] - offset[j]) ** 2
        out[i] += total


@_compiled
def _spread(start, cluster, value, out):  # type: ignore[no-untyped-def]  # noqa: ANN202
    for i in range(len(out)):
        for j in range(start[i], start[i + 1]):
            out[i, cluster[j]] = value[j]


@_compiled
def pack_outer(z, linear, packed):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Write ``[1, z, z_i z_j for i <= j]`` for each row, or ``[1, z_i z_j for i <= j]`` if not ``linear``.

    Runs of products are short, so they are written in whole vectors of eight: what runs over a run's end is written
    over by the next run or row. Rows with too little behind them are written number by number.
    """
    n, d = z.shape
    width = packed.shape[1]
    flat = packed.reshape(n * width)
    row = np.zeros(d + 8)
    for i in range(n):
        p = i * width
        flat[p] = 1.0
        p += 1
        for c in range(d):
            row[c] = z[i, c]
        if linear:
            for c in range(d):
                flat[p + c] = row[c]
            p += d
        last = (n - 1 - i) * width < 8
        for c in range(d):
            left = row[c]
            if last:
                for e in range(c, d):
                    flat[p + e - c] = left * row[e]
            else:
                # Views, because Numba can't know that a sum of indices isn't negative, and then doesn't use vectors.
                vectors = (d - c + 7) // 8
                run, to = row[c : c + 8 * vectors], flat[p : p + 8 * vectors]
                for v in range(vectors):
                    for e in range(8):
                        to[8 * v + e] = left * run[8 * v + e]
            p += d - c


@_compiled
def score_counts(indptr, indices, data, per_word, out):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Add ``sum_v c_nv per_word[v]`` to the scores of each row of CSR counts."""
    n_clusters = per_word.shape[1]
    for i in range(len(indptr) - 1):
        to = out[i]
        for j in range(indptr[i], indptr[i + 1]):
            c = data[j]
            word = per_word[indices[j]]
            for k in range(n_clusters):
                to[k] += c * word[k]


@_compiled
def collect_counts(indptr, indices, data, start, cluster, value, out):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Sum CSR counts by responsibilities into ``out`` (K, 1 + V), whose first column is the clusters' counts."""
    for i in range(len(indptr) - 1):
        for a in range(start[i], start[i + 1]):
            r = value[a]
            to = out[cluster[a]]
            to[0] += r
            for j in range(indptr[i], indptr[i + 1]):
                to[1 + indices[j]] += r * data[j]
