"""Progress of a fit: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from stickbreak.estimators.history import Lap


class Watcher(Protocol):
    """Somebody who is told how a fit goes."""

    def block(self, lap: int, done: int, of: int) -> None:
        """A block was visited."""

    def lap(self, lap: Lap) -> None:
        """A lap was done."""

    def end(self, message: str) -> None:
        """The fit is over."""


class Silent:
    """Nobody watches."""

    def block(self, lap: int, done: int, of: int) -> None:
        """Say nothing."""

    def lap(self, lap: Lap) -> None:
        """Say nothing."""

    def end(self, message: str) -> None:
        """Say nothing."""


class Lines:
    """A plain line a lap, on standard error."""

    def __init__(self, weight: float):
        self._weight = weight

    def block(self, lap: int, done: int, of: int) -> None:
        """Say nothing: a log is not a terminal."""

    def lap(self, lap: Lap) -> None:
        """Write a line."""
        sys.stderr.write(f"{describe(lap, self._weight)}\n")
        sys.stderr.flush()

    def end(self, message: str) -> None:
        """Write a last line."""
        sys.stderr.write(f"{message}\n")


class Live:
    """One line on a terminal that is always up to date."""

    def __init__(self, weight: float, max_iter: int):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._weight = weight
        console = Console(stderr=True)
        columns = [BarColumn(bar_width=20), TextColumn("{task.description}"), TimeElapsedColumn()]
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("starting", total=max_iter)
        self._progress.start()

    def block(self, lap: int, done: int, of: int) -> None:
        """Move the bar by part of a lap."""
        self._progress.update(self._task, completed=lap - 1 + done / of)

    def lap(self, lap: Lap) -> None:
        """Rewrite the line."""
        self._progress.update(self._task, completed=lap.lap, description=describe(lap, self._weight))

    def end(self, message: str) -> None:
        """Take the line away and say how it ended."""
        self._progress.stop()
        self._progress.console.print(message, highlight=False)


def describe(lap: Lap, weight: float) -> str:
    """Put a lap in words."""
    bound = "" if lap.elbo is None else f"  bound {lap.elbo / weight:.6f} nats a row"
    made = ((lap.births_kept, "birth"), (lap.merges_kept, "merge"))
    moves = ", ".join(f"{n} {what}{'s' if n > 1 else ''}" for n, what in made if n)
    return f"lap {lap.lap:3d}  {lap.n_components} clusters{bound}  {lap.seconds:.1f} s{'  ' + moves if moves else ''}"


def watcher(verbose: Any, weight: float, max_iter: int) -> Watcher:
    """Choose who watches: nobody, a log, or a person at a terminal (if rich is installed)."""
    if not verbose:
        return Silent()
    if sys.stderr.isatty():
        try:
            return Live(weight, max_iter)
        except ImportError:
            pass
    return Lines(weight)
