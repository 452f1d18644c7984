"""Records to plain trees and arrays, and back: nothing is ever executed on the way.

A tree holds None, booleans, numbers, strings, lists and dictionaries. What is none of these is written as a
dictionary with one marked key: an array by the name it is kept under, a tuple by its items, sparse rows by their
arrays, one of our own records by its type and fields. Only the types listed here can come back.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from stickbreak import families, priors
from stickbreak.core.summary import Summary
from stickbreak.data.schema import Schema
from stickbreak.errors import FormatError
from stickbreak.learn.stochastic import LearningRate
from stickbreak.moves.book import Before, Birth, Book, Trial
from stickbreak.moves.gleaning import Wanted
from stickbreak.moves.options import Moves
from stickbreak.moves.seeding import BestOf, KMeansPlusPlus, RandomRows, Sample

_TYPES: dict[str, Any] = {
    t.__name__: t
    for t in (
        families.Bernoulli,
        families.Categorical,
        families.DiagonalGaussian,
        families.Gaussian,
        families.Mixed,
        families.Multinomial,
        families.Poisson,
        families.Product,
        families.ZeroMeanGaussian,
        priors.BetaSticks,
        priors.DirichletProcess,
        priors.FiniteDirichlet,
        priors.LearnedConcentration,
        priors.PitmanYor,
        Before,
        BestOf,
        Birth,
        Book,
        KMeansPlusPlus,
        LearningRate,
        Moves,
        RandomRows,
        Sample,
        Schema,
        Summary,
        Trial,
        Wanted,
    )
}


def pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Turn a record into a tree, adding its arrays to `arrays`.

    Examples
    --------
    >>> import numpy as np
    >>> arrays = {}
    >>> pack({"x": np.arange(3), "y": (1, None)}, arrays)
    {'x': {'$array': '0'}, 'y': {'$tuple': [1, None]}}
    >>> unpack(pack({"x": np.arange(3)}, arrays), arrays)
    {'x': array([0, 1, 2])}
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return pack(value.item(), arrays)
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = str(len(arrays))
        arrays[name] = value
        return {"$array": name}
    if isinstance(value, (sparse.csr_matrix, sparse.csr_array)):
        return {"$csr": [pack(part, arrays) for part in (value.data, value.indices, value.indptr, value.shape)]}
    if isinstance(value, list):
        return [pack(v, arrays) for v in value]
    if isinstance(value, tuple):
        return {"$tuple": [pack(v, arrays) for v in value]}
    if isinstance(value, dict):
        return _pack_dict(value, arrays)
    if type(value).__name__ in _TYPES and isinstance(value, _TYPES[type(value).__name__]):
        record: Any = value
        fields = {f.name: pack(getattr(record, f.name), arrays) for f in dataclasses.fields(record)}
        return {"$type": type(value).__name__, "fields": fields}
    raise TypeError(f"{type(value).__name__} can't be written to a file.")


def _pack_dict(value: dict[Any, Any], arrays: dict[str, np.ndarray]) -> Any:
    if all(isinstance(k, str) and not k.startswith("$") for k in value):
        return {k: pack(v, arrays) for k, v in value.items()}
    return {"$dict": [[pack(k, arrays), pack(v, arrays)] for k, v in value.items()]}


def unpack(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Undo `pack`."""
    if isinstance(tree, list):
        return [unpack(v, arrays) for v in tree]
    if not isinstance(tree, dict):
        return tree
    if "$array" in tree:
        return arrays[tree["$array"]]
    if "$csr" in tree:
        data, indices, indptr, shape = (unpack(part, arrays) for part in tree["$csr"])
        return sparse.csr_array((data, indices, indptr), shape=shape)
    if "$tuple" in tree:
        return tuple(unpack(v, arrays) for v in tree["$tuple"])
    if "$dict" in tree:
        return {unpack(k, arrays): unpack(v, arrays) for k, v in tree["$dict"]}
    if "$type" in tree:
        if tree["$type"] not in _TYPES:
            raise FormatError(f"the file holds a record of an unknown type, {tree['$type']!r}.")
        return _TYPES[tree["$type"]](**{k: unpack(v, arrays) for k, v in tree["fields"].items()})
    return {k: unpack(v, arrays) for k, v in tree.items()}
