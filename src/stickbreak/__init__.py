"""Clusters and topics when nobody knows how many there are, on data too big for the usual tools.

>>> import stickbreak as sb
>>> from sklearn.datasets import load_iris
>>> model = sb.DPMixture(n_components=6, random_state=0).fit(load_iris().data)
>>> model.labels_.shape
(150,)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stickbreak import errors, families, priors
    from stickbreak.core.summary import Summary
    from stickbreak.estimators.checkpoint import Checkpoint
    from stickbreak.estimators.dpmixture import DPMixture
    from stickbreak.estimators.history import History, Lap
    from stickbreak.estimators.loading import load
    from stickbreak.moves.options import Moves
    from stickbreak.moves.seeding import BestOf, KMeansPlusPlus, RandomRows

_HOMES = {
    "BestOf": "stickbreak.moves.seeding",
    "Checkpoint": "stickbreak.estimators.checkpoint",
    "DPMixture": "stickbreak.estimators.dpmixture",
    "History": "stickbreak.estimators.history",
    "KMeansPlusPlus": "stickbreak.moves.seeding",
    "Lap": "stickbreak.estimators.history",
    "Moves": "stickbreak.moves.options",
    "RandomRows": "stickbreak.moves.seeding",
    "Summary": "stickbreak.core.summary",
    "errors": "stickbreak",
    "families": "stickbreak",
    "load": "stickbreak.estimators.loading",
    "priors": "stickbreak",
}

__all__ = [
    "BestOf",
    "Checkpoint",
    "DPMixture",
    "History",
    "KMeansPlusPlus",
    "Lap",
    "Moves",
    "RandomRows",
    "Summary",
    "errors",
    "families",
    "load",
    "priors",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: scikit-learn and Numba take seconds to load."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        importlib.import_module(f"{home}.{name}") if home == __name__ else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
