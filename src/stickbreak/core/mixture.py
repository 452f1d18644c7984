"""The model: a family and an allocation prior, and all that follows from the two and a Summary.

With the global factors at their optimum given the summaries, the bound of Hughes & Sudderth 2013, eq. (8), is

    L = evidence(N) + sum_k [a(lam_0 + S_k) - a(lam_0)] + sum_k H_k + sum_n log h(x_n),

since ``E[log p(phi)] - E[log q(phi)] + <E[eta], S_k>`` at ``lam_k = lam_0 + S_k`` leaves the two log-normalizers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp

from stickbreak.core.allocation import AllocationPrior
from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.core.family import Family
from stickbreak.core.kernels import Responsibilities, sparse_softmax
from stickbreak.core.summary import Summary
from stickbreak.core.workspace import Workspace

Look: TypeAlias = Callable[[slice, Responsibilities], None]
"""Told which rows a tile holds, and their responsibilities."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The global factors, made ready for scoring rows."""

    ids: Ints
    scorer: Any
    log_weights: Floats

    @property
    def n_clusters(self) -> int:
        """Number of clusters, K."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of one family under one allocation prior.

    Parameters
    ----------
    family : Family
        What one cluster looks like, bound to the data.
    prior : AllocationPrior
        How mass is shared out.
    """

    family: Family
    prior: AllocationPrior

    def natural(self, s: Summary) -> Floats:
        """Posterior natural parameters ``lam_0 + S_k`` (eq. 10)."""
        return self.family.prior_natural + s.stats

    def posterior(self, s: Summary) -> Posterior:
        """Set the global factors to their optimum given the summaries: the global step (eq. 10)."""
        return Posterior(s.ids, self.family.scorer(self.natural(s)), self.prior.expected_log_weights(s.counts))

    def assign(
        self, rows: Rows, weight: Floats, posterior: Posterior, limit: int, workspace: Workspace
    ) -> tuple[Any, Responsibilities, Floats]:
        """Set the assignments of a tile of rows to their optimum: the local step (eq. 9).

        Returns
        -------
        tuple of encoded rows, Responsibilities and ndarray of shape (K,)
            The rows as the family encodes them, their weighted responsibilities, the entropies ``H_k``.
        """
        encoded = self.family.encode(rows, workspace)
        scores = self.family.scores(posterior.scorer, encoded, posterior.log_weights, workspace)
        entropy = np.zeros(posterior.n_clusters)
        return encoded, sparse_softmax(scores, weight, limit, entropy, workspace), entropy

    def tile_rows(self, n_clusters: int) -> int:
        """Rows to work on at once."""
        return self.family.tile_rows(n_clusters)

    def summarize(
        self,
        rows: Rows,
        weight: Floats,
        posterior: Posterior,
        limit: int,
        workspace: Workspace,
        look: Look | None = None,
    ) -> Summary:
        """Local step and summary step over some rows, a tile at a time (eq. 7 and 9).

        Whoever wants to know more of the responsibilities than their sums may have a look at each tile's, before they
        are forgotten.
        """
        stats = np.zeros((posterior.n_clusters, len(self.family.prior_natural)))
        entropy = np.zeros(posterior.n_clusters)
        log_base = 0.0
        step = self.tile_rows(posterior.n_clusters)
        for low in range(0, len(weight), step):
            tile, w = rows[low : low + step], weight[low : low + step]
            encoded, resp, h = self.assign(tile, w, posterior, limit, workspace)
            self.family.collect(encoded, resp, stats)
            if look is not None:
                look(slice(low, low + len(w)), resp)
            entropy += h
            log_base += float(w @ self.family.log_base(tile))
        return Summary(stats, entropy, log_base, posterior.ids)

    def summarize_given(self, rows: Rows, resp: Responsibilities, ids: Ints, workspace: Workspace) -> Summary:
        """Summary step alone, for responsibilities given from outside (their rows' weights in them)."""
        stats = np.zeros((len(ids), len(self.family.prior_natural)))
        step = self.tile_rows(len(ids))
        for low in range(0, resp.n_rows, step):
            high = min(low + step, resp.n_rows)
            self.family.collect(self.family.encode(rows[low:high], workspace), resp.between(low, high), stats)
        weight = resp.row_sums()
        shares = resp.value / np.repeat(weight, np.diff(resp.start))
        entropy = np.zeros(len(ids))
        np.add.at(entropy, resp.cluster, -resp.value * np.log(shares))
        return Summary(stats, entropy, float(weight @ self.family.log_base(rows)), ids)

    def bound(self, s: Summary) -> float:
        """Evidence lower bound in nats, every constant included, the global factors at their optimum (eq. 8)."""
        return self.bound_at(s, s)

    def bound_at(self, local: Summary, at: Summary) -> float:
        """Evidence lower bound of assignments that gave one summary and global factors that come from another.

        With ``c`` and ``S`` the local sums and ``c'``, ``S'`` those behind the global factors, every term is linear
        in the local sums: ``L = L(S') + <E[eta], S - S'> + <E[log w], c - c'>``, with the local entropy and base
        measure. Stochastic inference needs this, its global factors being at no summary's optimum.
        """
        lam = self.natural(at)
        gains = self.family.log_normalizer(lam) - self.family.prior_normalizer
        bound = self.prior.evidence(at.counts) + float(gains.sum())
        if local is not at:
            bound += float(np.sum(self.family.expected_natural(lam) * (local.stats - at.stats)))
            bound += float(self.prior.expected_log_weights(at.counts) @ (local.counts - at.counts))
        return bound + float(local.entropy.sum()) + local.log_base

    def log_density(self, rows: Rows, s: Summary) -> Floats:
        """Log posterior predictive density of each row, in nats.

        ``sum_k E[w_k] p(x | rows of k) + E[w_unseen] p(x)``: q's own leftover mass goes to a cluster not yet seen, so
        that the density integrates to one (compare Kurihara et al. 2006, eq. 10).
        """
        shares = self.prior.shares(s.counts)
        lam = np.vstack([self.natural(s), self.family.prior_natural])
        used = shares > 0
        return np.asarray(logsumexp(self.family.predictive(rows, lam[used]) + np.log(shares[used]), axis=1))
