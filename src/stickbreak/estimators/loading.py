"""Fitted models to files and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from stickbreak.core.mixture import Mixture
from stickbreak.errors import FormatError
from stickbreak.estimators.dpmixture import DPMixture
from stickbreak.estimators.history import History, Lap
from stickbreak.store import read, write
from stickbreak.store.codec import pack

_PLAIN = ("elbo_", "converged_", "interrupted_", "n_iter_", "n_features_in_", "schema_")


def save(model: DPMixture, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    Options that no file can hold (callbacks, random generators, arrays and models given as `init`) are left at their
    defaults in the file.
    """
    defaults = DPMixture().get_params(deep=False)
    options = model.get_params(deep=False)
    record = {
        "estimator": type(model).__name__,
        "options": {name: v if _holds(v) else defaults[name] for name, v in options.items()},
        "family": model.family_,
        "prior": model.prior_,
        "summary": model.summary_,
        "history": model.history_.to_records(),
        "names": list(getattr(model, "feature_names_in_", [])),
        **{name: getattr(model, name) for name in _PLAIN},
    }
    if hasattr(model, "labels_"):
        record["labels_"] = model.labels_
    write(path, "model", record)


def load(path: str | os.PathLike[str]) -> DPMixture:
    """Read a fitted model from a file that `DPMixture.save` wrote.

    Nothing in the file is executed; a truncated, altered or foreign file raises `FormatError`.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    DPMixture
        The fitted model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import stickbreak as sb
    >>> model = sb.DPMixture(n_components=2, random_state=0).fit(np.arange(20.0).reshape(-1, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "model.sb")
    ...     again = sb.load(pathlib.Path(folder) / "model.sb")
    >>> again.elbo_ == model.elbo_
    True
    """
    record = read(path, "model")
    if record.get("estimator") != DPMixture.__name__:
        raise FormatError(f"{path} holds a {record.get('estimator')}, which this stickbreak doesn't know.")
    model = DPMixture(**record["options"])
    model._settle(Mixture(record["family"], record["prior"]), record["summary"])  # noqa: SLF001
    model.history_ = History(Lap(**lap) for lap in record["history"])
    for name in (*_PLAIN, "labels_"):
        if name in record:
            setattr(model, name, record[name])
    if record["names"]:
        model.feature_names_in_ = np.asarray(record["names"], dtype=object)
    return model


def _holds(value: Any) -> bool:
    """Whether a file can hold an option's value."""
    if isinstance(value, np.ndarray):
        return False
    try:
        pack(value, {})
    except TypeError:
        return False
    return True
