"""What goes wrong, in one plain line on standard error and an exit code."""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from stickbreak.errors import InputError, StickbreakError

FAILED, MISUSED, STOPPED = 1, 2, 130
"""Exit codes: a file or the machine, bad usage or data, Ctrl-C."""

_RENAMED = {
    "n_components": "--components",
    "moves": "--moves",
    "n_blocks": "--blocks",
    "max_iter": "--laps",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "every_seconds": "--checkpoint-seconds",
}
_SAME = ("family", "prior", "concentration", "algorithm", "init", "tol", "columns")
_OPTION = re.compile(rf"\b(?:({'|'.join(_RENAMED)})\b|({'|'.join(_SAME)})(?=[=:]))")


def in_options(message: str) -> str:
    """Turn the library's names of options into those of the command line.

    Parameters
    ----------
    message : str
        An error or a warning.

    Returns
    -------
    str
        The same in one line.

    Examples
    --------
    >>> in_options("raise max_iter=100, or set tol=0")
    'raise --laps=100, or set --tol=0'
    """
    one_line = " ".join(message.split()).replace("columns=[...]", "--columns A,B,C")
    return _OPTION.sub(lambda m: _RENAMED[m[1]] if m[1] else f"--{m[2]}", one_line)


def say(message: str) -> None:
    """Write a line to standard error."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


@contextmanager
def guarded(*, debug: bool) -> Iterator[None]:
    """Run a command: expected errors end it with a line and an exit code, warnings become lines.

    Parameters
    ----------
    debug : bool
        Whether to show where an error came from.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _warn
        try:
            yield
        except BrokenPipeError:
            raise  # nobody reads on, as in `stickbreak predict ... | head`; Typer ends quietly
        except KeyboardInterrupt:
            say("interrupted.")
            raise typer.Exit(STOPPED) from None
        except (StickbreakError, OSError, MemoryError, ImportError) as error:
            if debug:
                traceback.print_exc()
            say(f"error: {in_options(str(error) or 'out of memory')}")
            raise typer.Exit(MISUSED if isinstance(error, InputError) else FAILED) from None


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as Python asks to, without where it came from."""
    del category, filename, lineno, file, line
    say(f"warning: {in_options(str(message))}")
