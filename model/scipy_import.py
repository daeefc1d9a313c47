"""scipy's minimiser, with one thread.

scipy brings a linear algebra library of its own, which starts threads for matrices of 20 x 20 and
has them wait for each other: 1.5 ms for a step that takes 0.4 ms without them. The library reads
their number when it is loaded. numpy's threads, which large products need, are those of another
library; it is loaded here first, so that they stay as they are.
"""

import os

import numpy as np  # noqa: F401 - loaded first

_THREADS = "OPENBLAS_NUM_THREADS"
_wanted = os.environ.get(_THREADS)  # noqa: TID251 - put back below
os.environ[_THREADS] = "1"  # noqa: TID251 - written, not read
try:
    from scipy.optimize import minimize
finally:
    del os.environ[_THREADS]  # noqa: TID251
    if _wanted is not None:
        os.environ[_THREADS] = _wanted  # noqa: TID251

__all__ = ["minimize"]
