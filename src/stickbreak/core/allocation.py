"""How mass is shared out among clusters: the protocol of an allocation prior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from stickbreak.core.arrays import Floats


@dataclass(frozen=True)
class AllocationPrior(ABC):
    """A prior over the shares ``w`` of the clusters, seen only through the clusters' expected counts.

    ``counts`` are ``N_1, ..., N_K`` in the clusters' order.
    """

    name: ClassVar[str]

    @abstractmethod
    def expected_log_weights(self, counts: Floats) -> Floats:
        """``E[log w_k]`` of each cluster under the optimal q given the counts, of shape (K,)."""

    @abstractmethod
    def evidence(self, counts: Floats) -> float:
        """Terms of the bound that concern the shares, at their optimum.

        This is ``max_q E[log p(z | w)] + E[log p(w)] - E[log q(w)]``, a function of the counts alone.
        """

    @abstractmethod
    def shares(self, counts: Floats) -> Floats:
        """``E[w_k]`` of each cluster and, last, of all clusters not yet seen; of shape (K + 1,), summing to one."""

    @property
    def most_clusters(self) -> int | None:
        """Number of clusters that there can be; None if there is no limit."""
        return None

    def describe(self, counts: Floats) -> dict[str, float]:
        """What has been learned of the prior's own parameters, by name."""
        del counts
        return {}
