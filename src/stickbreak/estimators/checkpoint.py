"""Checkpoints: a run written down at a block's end, so that it can be killed at any moment and go on from there."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickbreak.core.mixture import Mixture
from stickbreak.data import Partition
from stickbreak.data.profile import Profile
from stickbreak.errors import FileError, InputError, OptionError
from stickbreak.estimators.history import History, Lap
from stickbreak.estimators.options import Options
from stickbreak.learn.events import RunState
from stickbreak.store import read, write


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a fit writes itself down.

    Parameters
    ----------
    path : path
        The file. If it exists when a fit begins, the fit goes on from it.
    every_seconds : float or None
        Write at the first block's end after so many seconds; None writes once a lap.

    Examples
    --------
    >>> Checkpoint("run.stickbreak", every_seconds=60).every_seconds
    60
    """

    path: str | os.PathLike[str]
    every_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.every_seconds is not None and not self.every_seconds >= 0:
            raise OptionError(f"every_seconds={self.every_seconds!r} must be at least 0, or None for every lap.")


def read_checkpoint(given: Any) -> Checkpoint | None:
    """Take a checkpoint given as an object or as a path; check that its folder is there."""
    if given is None:
        return None
    checkpoint = given if isinstance(given, Checkpoint) else Checkpoint(given)
    folder = Path(checkpoint.path).absolute().parent
    if not folder.is_dir():
        raise FileError(f"can't write a checkpoint to {checkpoint.path}: there is no folder {folder}.")
    return checkpoint


def fingerprint(model: Mixture, options: Options, blocks: Partition, profile: Profile, weights: Any) -> dict[str, Any]:
    """Tell runs apart: all that changes what a run computes, from here on to its end."""
    h = hashlib.blake2b(digest_size=16)
    for part in (profile.mean, profile.variance, profile.low, profile.high, weights):
        h.update(b"none" if part is None else np.ascontiguousarray(part).data)
    return {
        "family": model.family,
        "prior": model.prior,
        "algorithm": options.algorithm,
        "resp_per_row": int(options.limit),
        "learning_rate": options.rate,
        "moves": options.moves,
        "n_blocks": [int(size) for size in blocks.sizes],
        "data": h.hexdigest(),
    }


class Keeper:
    """Writes a run to its checkpoint when it is due, and reads it back.

    Parameters
    ----------
    checkpoint : Checkpoint or None
        None writes nothing.
    identity : dict
        What `fingerprint` tells of the run.
    """

    def __init__(self, checkpoint: Checkpoint | None, identity: dict[str, Any]):
        self._checkpoint = checkpoint
        self._identity = identity
        self._last = time.monotonic()

    def resume(self) -> tuple[RunState, History, bool] | None:
        """Read the run back; None if there is nothing to go on from.

        Returns
        -------
        tuple of RunState, History and bool, or None
            The run, its laps, and whether it had ended by converging.
        """
        if self._checkpoint is None or not Path(self._checkpoint.path).exists():
            return None
        record = read(self._checkpoint.path, "checkpoint")
        self._compare(record["identity"])
        rng = np.random.default_rng()
        rng.bit_generator.state = record["rng"]
        state = RunState(
            total=record["total"],
            rng=rng,
            memos=record["memos"],
            lap=record["lap"],
            order=record["order"],
            position=record["position"],
            exact=record["exact"],
            book=record["book"],
        )
        return state, History(Lap(**lap) for lap in record["history"]), record["converged"]

    def _compare(self, theirs: dict[str, Any]) -> None:
        from stickbreak.store.codec import pack

        def plain(value: Any) -> tuple[Any, list[bytes]]:
            arrays: dict[str, Any] = {}
            tree = pack(value, arrays)
            return tree, [a.tobytes() for a in arrays.values()]

        other = [name for name, mine in self._identity.items() if plain(mine) != plain(theirs.get(name))]
        if other and self._checkpoint is not None:
            raise InputError(
                f"{self._checkpoint.path} was written by another fit: {', '.join(other)} differ. Go on with the data "
                "and options it was begun with, or give another path, or delete the file."
            )

    def due(self, *, lap_done: bool) -> bool:
        """Tell whether it is time to write."""
        if self._checkpoint is None:
            return False
        every = self._checkpoint.every_seconds
        return lap_done if every is None else time.monotonic() - self._last >= every

    def keep(self, state: RunState, history: History, *, converged: bool) -> None:
        """Write the run down."""
        if self._checkpoint is None:
            return
        record = {
            "identity": self._identity,
            "total": state.total,
            "memos": list(state.memos),
            "lap": state.lap,
            "order": np.asarray(state.order, dtype=np.int64),
            "position": state.position,
            "exact": state.exact,
            "book": state.book,
            "rng": state.rng.bit_generator.state,
            "history": history.to_records(),
            "converged": converged,
        }
        write(self._checkpoint.path, "checkpoint", record)
        self._last = time.monotonic()
