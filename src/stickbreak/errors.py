"""The errors stickbreak raises, and nothing else.

::

    StickbreakError
    ├── InputError (ValueError)         what was given can't be used
    │   ├── DataError                   a value in the data: its row and column are named
    │   ├── SchemaError                 width, names or types differ from those seen in fit
    │   └── OptionError                 an unknown option, or one out of its range
    └── FileError (OSError)             a file can't be read or written
        └── FormatError                 a file is truncated, altered or not of the kind asked for

Every message says what was expected, what was found and where, and what to do about it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StickbreakError(Exception):
    """Base of every error that this library raises on purpose."""


class InputError(StickbreakError, ValueError):
    """Something given to a function can't be used."""


class DataError(InputError):
    """A value in the data can't be used.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    row, column : int, optional
        Where the first such value is, counted from 0.
    """

    def __init__(self, message: str, *, row: int | None = None, column: int | str | None = None):
        super().__init__(message)
        self.row = row
        self.column = column


class SchemaError(InputError):
    """Data differ in width, names or types from what the model was fitted on."""


class OptionError(InputError):
    """An option is unknown or out of its range."""


class FileError(StickbreakError, OSError):
    """A file can't be read or written."""


class FormatError(FileError):
    """A file is truncated, altered, or not of the expected kind."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Name the known option nearest to a misspelt one.

    Parameters
    ----------
    given : str
        What was written.
    known : iterable of str
        What could have been meant.

    Returns
    -------
    str
        A sentence that starts with a blank, or nothing when no option is near.

    Examples
    --------
    >>> did_you_mean("gausian", ["gaussian", "poisson"])
    " Did you mean 'gaussian'?"
    """
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def unknown_option(option: str, given: object, known: Iterable[str]) -> OptionError:
    """Make the error for a name that is not among the known ones.

    Parameters
    ----------
    option : str
        The option's name.
    given : object
        The value it was given.
    known : iterable of str
        The values it takes.

    Returns
    -------
    OptionError
        The error, to be raised by the caller.
    """
    names = sorted(known)
    hint = did_you_mean(given, names) if isinstance(given, str) else ""
    return OptionError(f"{option}={given!r} is not known; it is one of {', '.join(map(repr, names))}.{hint}")
