"""The whole of variational inference for a mixture, written out from Hughes & Sudderth (2013), eq. (4) to (10).

Priors over shares here have `posterior(counts)`, `expected_log_weights(q)` and `divergence(q)`: the optimal factor,
what eq. (9) needs of it, and its KL from the prior.
"""

import numpy as np
from scipy.special import digamma

from textbook.count_families import dirichlet_divergence


class Sticks:
    """Independent beta sticks, K of them; those behind keep their prior and cost nothing."""

    def __init__(self, parameters):
        self.parameters = parameters
        """Function of the stick's number, 1, 2, ..., to its two prior parameters."""

    def posterior(self, counts):
        """Eq. (10)."""
        out = []
        for k in range(len(counts)):
            a, b = self.parameters(k + 1)
            out.append((a + counts[k], b + sum(counts[k + 1 :])))
        return out

    def expected_log_weights(self, q):
        """Supplement eq. (15) and (16)."""
        out = []
        for k in range(len(q)):
            before = sum(digamma(b) - digamma(a + b) for a, b in q[:k])
            out.append(digamma(q[k][0]) - digamma(sum(q[k])) + before)
        return np.array(out)

    def divergence(self, q):
        return sum(dirichlet_divergence(q_k, self.parameters(k + 1)) for k, q_k in enumerate(q))


def dirichlet_process(alpha):
    return Sticks(lambda k: (1.0, alpha))


def beta_sticks(first, second):
    return Sticks(lambda k: (first, second))


def pitman_yor(discount, alpha):
    return Sticks(lambda k: (1.0 - discount, alpha + k * discount))


class FiniteShares:
    """A symmetric Dirichlet over n clusters, of which K hold rows."""

    def __init__(self, n, concentration):
        self.prior = np.full(n, concentration / n)

    def posterior(self, counts):
        return self.prior + np.append(counts, np.zeros(len(self.prior) - len(counts)))

    def expected_log_weights(self, q):
        return np.array([digamma(q_k) - digamma(sum(q)) for q_k in q])

    def divergence(self, q):
        return dirichlet_divergence(q, self.prior)


def global_step(X, resp, weight, family, prior):
    """Set q(phi) and the shares' factor to their optimum, eq. (10)."""
    mass = resp * weight[:, None]
    return [family.posterior(X, mass[:, k]) for k in range(resp.shape[1])], prior.posterior(mass.sum(axis=0))


def local_scores(X, family, prior, factors):
    """Logarithm of eq. (9) before it is normalised."""
    q_phi, q_shares = factors
    log_w = prior.expected_log_weights(q_shares)
    return np.array([[family.expected_log_likelihood(x, q) + w for q, w in zip(q_phi, log_w, strict=False)] for x in X])


def local_step(X, family, prior, factors):
    """Responsibilities, eq. (9)."""
    scores = local_scores(X, family, prior, factors)
    r = np.exp(scores - scores.max(axis=1, keepdims=True))
    return r / r.sum(axis=1, keepdims=True)


def elbo(X, resp, weight, family, prior, factors=None):
    """Eq. (8), term by term; a row of weight 2 counts as two rows with the same assignment."""
    q_phi, q_shares = global_step(X, resp, weight, family, prior) if factors is None else factors
    log_w = prior.expected_log_weights(q_shares)
    bound = 0.0
    for x, r_n, w in zip(X, resp, weight, strict=True):
        for k in range(len(q_phi)):
            if r_n[k] > 0:
                bound += w * r_n[k] * (family.expected_log_likelihood(x, q_phi[k]) + log_w[k] - np.log(r_n[k]))
    return bound - prior.divergence(q_shares) - sum(family.divergence(q) for q in q_phi)
