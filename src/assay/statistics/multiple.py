"""Many p-values in, q-values out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.statistics._arrays import Floats


def benjamini_hochberg(p_values: Sequence[float | None] | NDArray[np.float64]) -> Floats:
    """Return Benjamini & Hochberg's (1995) q-values of one family; a missing p stays nan, uncounted.

    >>> benjamini_hochberg([0.01, None, 0.03, 0.04]).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    p = np.asarray(p_values, dtype=np.float64)
    q = np.full(p.shape, np.nan)
    present = np.flatnonzero(~np.isnan(p))
    if ((p[present] < 0) | (p[present] > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    order = present[np.argsort(p[present], kind="stable")]
    scaled = p[order] * order.size / np.arange(1, order.size + 1)
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q
