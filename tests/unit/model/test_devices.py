import pytest
import torch

from model.features.devices import best_device, half_precision, images_at_once


@pytest.mark.parametrize(
    ("cuda", "mps", "best"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_graphics_cards_come_first(
    cuda: bool, mps: bool, best: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    assert best_device().type == best


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_precision_is_full_without_an_nvidia_card(device: str) -> None:
    with half_precision(torch.device(device)):
        product = torch.ones(2, 2) @ torch.ones(2, 2)

    assert product.dtype == torch.float32


def test_batches_are_small_on_a_processor_and_large_on_a_card() -> None:
    assert images_at_once(torch.device("cpu")) == 4 * torch.get_num_threads()
    assert images_at_once(torch.device("cpu"), 3) == 3
    assert images_at_once(torch.device("cuda"), 3) == images_at_once(torch.device("cuda")) == 64
