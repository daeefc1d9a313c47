"""SimCLR on the pool: a network learns that two views of one image are the same thing.

After Chen et al. (SimCLR), with AdamW instead of LARS: LARS is made for batches of thousands, and
the pools and machines here call for hundreds.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from model.errors import ModelError
from model.features.augmentation import strong_view
from model.features.devices import best_device, half_precision, placed
from model.files import Arrays, load_arrays, save_arrays
from model.torchvision_import import import_torchvision

log = logging.getLogger(__name__)

SMALL_SIDE = 64  # pixels: smaller images keep their resolution through the stem
WIDTH = 512  # features of ResNet-18
PROJECTED = 128
BATCH, SMALLEST_BATCH, BATCHES = 256, 16, 8  # a small pool still makes BATCHES steps an epoch
TEMPERATURE = 0.5
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
WARM_UP = 0.05  # of the run
MEASURED_PIXELS = 10_000_000  # for the mean and spread of the colours

Progress = Callable[[float, float | None], None]  # share done, seconds left if known
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Budget:
    """A run ends after this many epochs, or after this many minutes if that comes first."""

    epochs: int = 200
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1 or (self.minutes is not None and self.minutes <= 0):
            raise ModelError(
                "Training needs 1 epoch or more and, if limited, more than 0 minutes, "
                f"got {self.epochs} epochs and {self.minutes} minutes."
            )


class Network(nn.Module):
    """ResNet-18 on pixels 0 to 1, with the projection that only training uses."""

    mean: Tensor  # (3, 1, 1), of the pool
    std: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.backbone = import_torchvision().models.resnet18(weights=None)
        self.backbone.fc = nn.Identity()
        if size < SMALL_SIDE:
            self.backbone.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
            self.backbone.maxpool = nn.Identity()
        self.projection = nn.Sequential(
            nn.Linear(WIDTH, WIDTH, bias=False),
            nn.BatchNorm1d(WIDTH),  # with it the loss falls faster from the first epoch on
            nn.ReLU(),
            nn.Linear(WIDTH, PROJECTED, bias=False),
            nn.BatchNorm1d(PROJECTED, affine=False),
        )
        self.register_buffer("mean", torch.zeros(3, 1, 1))
        self.register_buffer("std", torch.ones(3, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Features (n, WIDTH)."""
        pixels = ((images - self.mean) / self.std).contiguous(memory_format=torch.channels_last)
        features: Tensor = self.backbone(pixels)
        return features


@dataclass(slots=True)
class Run:
    """A training run and how far it has come."""

    network: Network
    optimiser: torch.optim.AdamW
    losses: list[float] = field(default_factory=list)  # one for each finished epoch
    seconds: float = 0.0  # spent on it so far, all sittings together

    def arrays(self) -> Arrays:
        """Everything that a later sitting needs."""
        weights = {f"network.{key}": value for key, value in self.network.state_dict().items()}
        moments = {
            f"optimiser.{number}.{key}": value
            for number, state in self.optimiser.state_dict()["state"].items()
            for key, value in state.items()
        }
        tensors = {key: value.cpu().numpy() for key, value in (weights | moments).items()}
        return tensors | {"losses": np.array(self.losses), "seconds": np.array(self.seconds)}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave."""
        tensors = {key: torch.from_numpy(value) for key, value in arrays.items()}
        moments: dict[int, dict[str, Tensor]] = {}
        for key in (key for key in tensors if key.startswith("optimiser.")):
            _, number, name = key.split(".")
            moments.setdefault(int(number), {})[name] = tensors[key]
        self.network.load_state_dict(
            {key: tensors["network." + key] for key in self.network.state_dict()}
        )
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
        self.losses = [float(loss) for loss in arrays["losses"]]
        self.seconds = float(arrays["seconds"])


@dataclass(frozen=True, slots=True)
class Pace:
    """How much of the budget is used up."""

    budget: Budget
    clock: Clock
    began: float  # on this clock, as if all sittings had been one

    def seconds(self) -> float:
        """Time spent so far."""
        return self.clock() - self.began

    def share(self, epochs: float, seconds: float) -> float:
        """0 at the start, 1 at the end.

        Args:
            epochs: Those that are done, with a fraction.
            seconds: Time spent so far.
        """
        minutes = self.budget.minutes
        timed = seconds / (60 * minutes) if minutes else 0.0
        return min(1.0, max(epochs / self.budget.epochs, timed))


def train(
    images: Tensor,
    *,
    seed: int,
    budget: Budget,
    checkpoint: Path | None,
    on_progress: Progress,
    clock: Clock,
) -> Run:
    """Train on images (n, 3, s, s) of bytes; see `SimClrExtractor.fit`."""
    run = _start(images, seed)
    if checkpoint and checkpoint.exists():
        _resume(run, checkpoint)
    pace = Pace(budget, clock, clock() - run.seconds)
    while pace.share(len(run.losses), pace.seconds()) < 1.0:
        # Seeded by the epoch: a run that was interrupted draws what it would have drawn.
        generator = torch.Generator().manual_seed(seed * 1_000_003 + len(run.losses))
        run.losses.append(_epoch(run, images, generator, pace, on_progress))
        run.seconds = pace.seconds()
        log.info("epoch %d of %d: loss %.3f", len(run.losses), budget.epochs, run.losses[-1])
        if checkpoint:
            save_arrays(checkpoint, run.arrays())
    on_progress(1.0, 0.0)
    return run


def contrastive_loss(one: Tensor, other: Tensor) -> Tensor:
    """NT-Xent: how badly each view (n, d) finds its partner among all views of the batch."""
    views = functional.normalize(torch.cat([one, other]).float())  # (2n, d)
    similarity = (views @ views.T / TEMPERATURE).fill_diagonal_(-torch.inf)  # never oneself
    partners = torch.arange(len(views), device=views.device).roll(len(one))
    return functional.cross_entropy(similarity, partners)


def learning_rate(share: float) -> float:
    """A short rise, then half a cosine down to 0 at the end of the run."""
    if share < WARM_UP:
        return LEARNING_RATE * max(share / WARM_UP, 0.01)
    return LEARNING_RATE * (1 + math.cos(math.pi * (share - WARM_UP) / (1 - WARM_UP))) / 2


def _start(images: Tensor, seed: int) -> Run:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(images.shape[-1])
    pixels = images.transpose(0, 1).flatten(1)[:, :MEASURED_PIXELS].double() / 255  # (3, m)
    network.mean.copy_(pixels.mean(1)[:, None, None])
    network.std.copy_(pixels.std(1).clamp(min=1e-3)[:, None, None])
    network = placed(network.train(), best_device())
    weights = [parameter for parameter in network.parameters() if parameter.ndim > 1]
    scales = [parameter for parameter in network.parameters() if parameter.ndim <= 1]
    groups: list[dict[str, Any]] = [{"params": weights}, {"params": scales, "weight_decay": 0.0}]
    return Run(network, torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY))


def _resume(run: Run, checkpoint: Path) -> None:
    try:
        run.restore(load_arrays(checkpoint))
    except Exception:
        log.exception("%s cannot be resumed: training starts from the beginning", checkpoint)


def _epoch(
    run: Run, images: Tensor, generator: torch.Generator, pace: Pace, on_progress: Progress
) -> float:
    """Show every image once, or fewer if time is up; gives the mean loss."""
    batches = _batches(len(images), generator)
    losses: list[float] = []
    for rows in batches:
        seconds = pace.seconds()
        share = pace.share(len(run.losses) + len(losses) / len(batches), seconds)
        if losses and share >= 1.0:
            break
        on_progress(share, seconds * (1 - share) / share if share else None)
        losses.append(_step(run, images[rows], share, generator))
    return sum(losses) / len(losses)


def _batches(count: int, generator: torch.Generator) -> list[Tensor]:
    """Rows in random order, in batches of one size; what is left over waits for another epoch."""
    size = min(count, BATCH, max(SMALLEST_BATCH, count // BATCHES))
    order = torch.randperm(count, generator=generator)
    return list(torch.split(order[: count - count % size], size))


def _step(run: Run, images: Tensor, share: float, generator: torch.Generator) -> float:
    device = run.network.mean.device
    pixels = images.to(device) / 255
    views = torch.cat([strong_view(pixels, generator), strong_view(pixels, generator)])
    with half_precision(device, torch.bfloat16):
        one, other = run.network.projection(run.network(views)).chunk(2)
    loss = contrastive_loss(one, other)
    for group in run.optimiser.param_groups:
        group["lr"] = learning_rate(share)
    run.optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    run.optimiser.step()
    return loss.item()
