import importlib
import subprocess
import sys

import pytest
import torch

from model import torchvision_import
from model.errors import ModelError
from model.torchvision_import import import_timm, import_torchvision


def test_torchvision_and_timm_can_be_imported_beside_a_torch_without_cuda() -> None:
    script = (
        "from model.torchvision_import import import_timm, import_torchvision\n"
        "import_timm(); assert import_torchvision().models.resnet18"
    )

    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - a fresh interpreter


def test_nothing_is_declared_where_torchvision_imports_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import_torchvision()
    monkeypatch.setattr(torchvision_import, "_declare_operators", lambda: pytest.fail("not needed"))

    assert import_torchvision().__name__ == "torchvision"


def test_other_errors_of_torchvision_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise RuntimeError("libcudart.so not found")

    monkeypatch.setattr(importlib, "import_module", broken)

    with pytest.raises(RuntimeError, match="libcudart"):
        import_torchvision()


def test_a_missing_timm_is_an_error_that_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import_torchvision()
    monkeypatch.setitem(sys.modules, "timm", None)

    with pytest.raises(ModelError, match=r"timm is missing; `pip install -r requirements\.txt`"):
        import_timm()


def test_the_missing_operators_have_no_implementation_to_be_called_by_mistake() -> None:
    import_torchvision()
    boxes, scores = torch.zeros(1, 4), torch.zeros(1)

    if torchvision_import._declared:
        with pytest.raises(NotImplementedError):
            torch.ops.torchvision.nms(boxes, scores, 0.5)
