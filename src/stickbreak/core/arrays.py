"""Names for the array types that cross module borders."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Dense: TypeAlias = npt.NDArray[np.floating[Any]]
Rows: TypeAlias = Dense | sparse.csr_matrix | sparse.csr_array
"""Some rows of the data: a 2-D float32 or float64 array (NaN marks a missing cell), or CSR counts."""
