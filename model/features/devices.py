"""Where networks run: the graphics card if there is one."""

from typing import TypeVar

import torch
from torch import nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def best_device() -> torch.device:
    """An NVIDIA card, else an Apple one, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def placed(network: AnyModule, device: torch.device) -> AnyModule:
    """The network on the device, its weights laid out as convolutions read them fastest."""
    return network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def images_at_once(device: torch.device, on_processor: int | None = None) -> int:
    """A batch of photos: small on a processor, where what fits its cache is fastest.

    DINOv2-S at 224 px takes a processor 0.18 s an image in batches of 2 and 0.16 to 0.17 s in
    batches of 4, 8 and 16.

    Args:
        device: Where the network is.
        on_processor: For a network that wants other batches there; 4 for each thread if None.
    """
    if device.type != "cpu":
        return 64
    return on_processor or 4 * torch.get_num_threads()


def half_precision(device: torch.device, dtype: torch.dtype = torch.float16) -> torch.autocast:
    """Half precision within the `with` block on NVIDIA cards; full precision everywhere else.

    A processor gains nothing from it, and rows there stay exact to about 1e-7.
    """
    cuda = device.type == "cuda"
    return torch.autocast(device.type if cuda else "cpu", dtype if cuda else None, enabled=cuda)
