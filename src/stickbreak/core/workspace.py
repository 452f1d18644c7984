"""Buffers that a worker thread uses again and again, so that a lap allocates next to nothing."""

from __future__ import annotations

import math

import numpy as np

from stickbreak.core.arrays import Floats


class Workspace:
    """Named scratch arrays that grow to the largest size asked for.

    An array is valid until the same name is asked for again.

    Examples
    --------
    >>> space = Workspace()
    >>> a = space.array("scores", (4, 3))
    >>> b = space.array("scores", (2, 3))
    >>> a.shape, b.shape, np.shares_memory(a, b)
    ((4, 3), (2, 3), True)
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        """Return an uninitialised C-contiguous float64 array of the given shape."""
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size)
        return buffer[:size].reshape(shape)
