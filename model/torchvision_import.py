"""The one way to torchvision and timm (which imports torchvision).

PyPI's torchvision is built for CUDA. Beside a torch without CUDA its compiled operators do not
load, and its import fails because two of them are missing. Nothing here uses them, so that
declaring them, without an implementation, is the whole cure.
"""

import importlib
from typing import Any

import torch

from model.errors import ModelError

MISSING_OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_declared: list[torch.library.Library] = []  # operators vanish with the library that declared them


def import_torchvision() -> Any:  # noqa: ANN401 - a module without types
    """The torchvision package, as it is or with its missing operators declared."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        _declare_operators()
        return importlib.import_module("torchvision")


def import_timm() -> Any:  # noqa: ANN401 - a module without types
    """The timm package; it takes some seconds the first time."""
    import_torchvision()
    try:
        return importlib.import_module("timm")
    except ModuleNotFoundError as error:
        raise ModelError(
            f"The package {error.name} is missing; `pip install -r requirements.txt` installs it."
        ) from error


def _declare_operators() -> None:
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for operator in MISSING_OPERATORS:
        library.define(operator + SIGNATURE)  # type: ignore[no-untyped-call]
    _declared.append(library)
