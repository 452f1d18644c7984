"""One safetensors file a record: arrays, and in the metadata a tree of everything else, a version and a digest.

Files are written beside their place, flushed to the disk and moved there in one step: whoever looks sees the old file
or the new one, never half of either, also after SIGKILL or on a full disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from stickbreak.errors import FileError, FormatError
from stickbreak.store.codec import pack, unpack

VERSION = 1
"""Version of the file format; a file with a later one is refused."""


def write(path: str | os.PathLike[str], kind: str, record: dict[str, Any]) -> None:
    """Write a record to a file, atomically.

    Parameters
    ----------
    path : path
        Where to.
    kind : str
        What the record is: "model" or "checkpoint".
    record : dict
        What `codec.pack` takes.
    """
    target = Path(path)
    arrays: dict[str, np.ndarray] = {}
    tree = json.dumps(pack(record, arrays))
    arrays = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
    head = {"format": "stickbreak", "version": str(VERSION), "kind": kind, "record": tree}
    part = target.with_name(f".{target.name}.part")
    try:
        save_file(arrays, part, metadata={**head, "digest": _digest(head, arrays)})
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise FileError(f"can't write {target}: {_reason(error)}. Nothing was changed there.") from error


def read(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read a record from a file, after checking that it is whole, unaltered and of the kind expected.

    Parameters
    ----------
    path : path
        Where from.
    kind : str
        What the record should be.

    Returns
    -------
    dict
        The record.
    """
    source = Path(path)
    if not source.is_file():
        raise FileError(f"there is no file {source}.")
    try:
        with safe_open(source, framework="np") as file:
            meta = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise FormatError(f"{source} is not a stickbreak file, or it is damaged: {_reason(error)}.") from error
    if meta.get("format") != "stickbreak":
        raise FormatError(f"{source} was not written by stickbreak.")
    if not meta.get("version", "").isdigit() or int(meta["version"]) > VERSION:
        raise FormatError(
            f"{source} has format version {meta.get('version')}, but this stickbreak reads up to {VERSION}: upgrade it."
        )
    head = {k: meta.get(k, "") for k in ("format", "version", "kind", "record")}
    if meta.get("digest") != _digest(head, arrays):
        raise FormatError(f"{source} was altered or damaged: its contents don't match their digest.")
    if head["kind"] != kind:
        raise FormatError(f"{source} holds a {head['kind']}, but a {kind} was expected.")
    record: dict[str, Any] = unpack(json.loads(head["record"]), arrays)
    return record


def _digest(head: dict[str, str], arrays: dict[str, np.ndarray]) -> str:
    h = hashlib.blake2b(json.dumps(head, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        a = arrays[name]
        h.update(f"{name} {a.dtype.str} {a.shape}".encode())
        h.update(a.data if a.size else b"")
    return h.hexdigest()


def _umask() -> int:
    """Rights that new files don't get; the only way to ask is to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
