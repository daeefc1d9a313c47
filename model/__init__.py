"""The machine learning of Uncertainty Herding: arrays in, a ranking out.

Start reading in ``model/pipeline.py``. Importing this package alone does not load torch.
"""

import os

# Before torch is loaded: its threads otherwise wait for each other by spinning, which is ruinous
# where another program uses the same cores. Of two fits at once on 2 cores each took 156 s, with
# this setting 22 s.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # noqa: TID251 - written, not read

from model.coverage import coverage, select
from model.greedy import Selection

__all__ = ["Selection", "coverage", "select"]
