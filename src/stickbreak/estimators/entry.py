"""The door: data of any kind, checked against what the model knows, as a source of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from stickbreak.core.family import Family
from stickbreak.data import Schema, Source, infer_schema, open_source
from stickbreak.errors import InputError, SchemaError, did_you_mean
from stickbreak.families import Mixed


@contextmanager
def opened(estimator: Any, X: Any, family: Family | Mixed, *, reset: bool) -> Iterator[tuple[Source, Family]]:
    """Open data for an estimator.

    Parameters
    ----------
    estimator : DPMixture
        It remembers names and number of columns if `reset`, and is compared with if not.
    X : data
        Of any kind.
    family : Family or Mixed
        What will model the rows.
    reset : bool
        Whether the data are to be learned from.

    Yields
    ------
    tuple of Source and Family
        Rows as numbers, and the family.
    """
    if reset:
        estimator.schema_ = _schema_of(X, family)
    if isinstance(family, Mixed):
        family = family.product(estimator.schema_)
    validated = estimator.schema_ is None and _in_memory(X)
    data = _validated(estimator, X, reset=reset) if validated else X
    # A source that somebody else opened is theirs to close.
    with nullcontext(X) if isinstance(X, Source) else open_source(data, schema=estimator.schema_) as source:
        if reset and not validated:
            _remember(estimator, source)
        elif not validated:
            _compare(estimator, source)
        yield source, family


def _schema_of(X: Any, family: Family | Mixed) -> Schema | None:
    """Find out how the columns of data become numbers; None if they are numbers to begin with."""
    if isinstance(X, Source):
        if isinstance(family, Mixed) and X.schema is None:
            raise InputError(
                'family="mixed" needs a source with a schema: open_source(data, schema=infer_schema(data)).'
            )
        return X.schema
    return infer_schema(X, family.kinds) if isinstance(family, Mixed) else None


def _in_memory(X: Any) -> bool:
    """Whether scikit-learn's own validation should look at the data: arrays, frames, lists of rows."""
    if isinstance(X, (str, os.PathLike, np.memmap)):
        return False
    if isinstance(X, np.ndarray) or sparse.issparse(X) or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return True
    return isinstance(X, (list, tuple)) and not (len(X) > 0 and np.ndim(X[0]) == 2)


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    try:
        return validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except ValueError as error:
        text = "could not convert string" in str(error)
        hint = ' A table with text in it goes with family="mixed".' if text else ""
        raise InputError(f"{error}{hint}") from error


def _remember(estimator: Any, source: Source) -> None:
    """Keep the columns' number and names, as scikit-learn's validation does for data in memory."""
    estimator.n_features_in_ = source.n_columns
    if source.names is not None:
        estimator.feature_names_in_ = np.asarray(source.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _compare(estimator: Any, source: Source) -> None:
    """Raise an error if the columns are not those of the fit."""
    if source.n_columns != estimator.n_features_in_:
        raise SchemaError(
            f"X has {source.n_columns} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or source.names is None or list(names) == list(source.names):
        return
    strange = [n for n in source.names if n not in names]
    if not strange:
        raise SchemaError(f"the columns are in another order than in fit: expected {', '.join(names)}.")
    raise SchemaError(f"column {strange[0]!r} was not there in fit.{did_you_mean(strange[0], names)}")
