"""The machine learning of Uncertainty Herding: arrays in, a ranking out.

Start reading in ``model/pipeline.py``. Importing this package alone does not load torch.
"""

from model.coverage import Selection, coverage, select

__all__ = ["Selection", "coverage", "select"]
