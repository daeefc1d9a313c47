"""The machine learning of Uncertainty Herding: arrays in, a ranking out.

Start reading in ``model/pipeline.py``. Importing this package alone does not load torch.
"""

import os

# Before torch is loaded: its threads otherwise wait for each other by spinning, and where another
# program uses the same cores (Label Studio does) a fit of 22 s took 156 s.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # noqa: TID251 - written, not read

from model.coverage import Selection, coverage, select

__all__ = ["Selection", "coverage", "select"]
