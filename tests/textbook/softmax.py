"""The local and summary steps on arrays, without a thought for speed."""

import numpy as np

SUPPORT = 40.0


def softmax(scores, weight, limit):
    """Weighted responsibilities (n, K) and entropies (K,); of each row the `limit` largest, of equals the earlier."""
    n, n_clusters = scores.shape
    resp, entropy = np.zeros((n, n_clusters)), np.zeros(n_clusters)
    for i in range(n):
        if weight[i] == 0:
            continue
        order = sorted(range(n_clusters), key=lambda k: (-scores[i, k], k))
        kept = [k for k in order[:limit] if scores[i, k] > scores[i].max() - SUPPORT]
        whole = sum(np.exp(scores[i, k] - scores[i].max()) for k in kept)
        for k in kept:
            r = np.exp(scores[i, k] - scores[i].max()) / whole
            resp[i, k] = weight[i] * r
            entropy[k] -= weight[i] * r * np.log(r) if r > 0 else 0.0
    return resp, entropy


def summarize(stats, resp):
    """Eq. (7)."""
    out = np.zeros((resp.shape[1], stats.shape[1]))
    for t, r in zip(stats, resp, strict=True):
        for k in range(len(r)):
            out[k] += r[k] * t
    return out
