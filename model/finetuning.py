"""Fine-tuning: the classifier is a whole network, trained anew on the labelled images every round.

The paper's setting for CIFAR is the default: ResNet-18 from a random state, with the rates and
epochs of the published code that it builds on (TypiClust). There is no validation set, because few
labels are too few to give any away: training stops by the training loss alone.
"""

import hashlib
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from model.arrays import Images, Inputs, Labels, Logits
from model.classifier import check_labels
from model.errors import ModelError
from model.features.devices import best_device, half_precision, placed
from model.features.rows import channels_first, check_images
from model.features.views import random_view
from model.files import Arrays, load_arrays, save_arrays
from model.networks import (
    RESNET,
    Network,
    checked_start,
    empty_network,
    is_pretrained,
    keep_statistics,
    starting_network,
)

log = logging.getLogger(__name__)

# Of EfficientNet-Lite0, with 60 labels of CIFAR-10 and 10 epochs: 0.025 recognised 9 % of the test
# images, 0.005 35 %, 0.001 70 % (the linear classifier on its fixed features: 62 %).
RANDOM_RATE, PRETRAINED_RATE = 0.025, 1e-3
MOMENTUM, WEIGHT_DECAY = 0.9, 3e-4
FALL = 0.01  # a loss that is lower by less than this share has not fallen
IMAGES_AT_ONCE = 32
# Few labels still make BATCHES steps an epoch. With 100 labels and 60 epochs, images of
# Fashion-MNIST were recognised at 66 % in batches of 25 and at 41 % in one of 100.
BATCHES, SMALLEST_BATCH = 4, 16
FORMAT = 1  # of the training itself: another number makes every checkpoint stale

Progress = Callable[[float], None]  # share done, from 0 to 1


def ignore(_: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class FinetunedClassifier:
    """A trained network; `Finetuning` makes one."""

    network: Network
    classes: NDArray[np.int64]  # (c,), class ids, ascending
    image_size: int  # pixels
    start: str  # what the network was trained from

    def logits(self, inputs: Inputs) -> Logits:
        """Logits (n, c), column j belonging to class ``classes[j]``."""
        check_images(cast(Images, inputs), self.image_size)
        device = self.network.mean.device
        logits = np.empty((len(inputs), len(self.classes)))
        with torch.inference_mode(), half_precision(device):
            for start in range(0, len(inputs), IMAGES_AT_ONCE):
                batch = channels_first(cast(Images, inputs[start : start + IMAGES_AT_ONCE]))
                rows = self.network(batch.to(device).float())
                logits[start : start + IMAGES_AT_ONCE] = rows.float().cpu().numpy()
        return logits

    def arrays(self) -> Arrays:
        """All of it as plain arrays, for a file in which no code can run."""
        header = {
            "classes": self.classes,
            "image_size": np.array(self.image_size),
            "start": np.array(self.start),
        }
        return header | self.network.arrays()

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> "FinetunedClassifier":
        """The classifier that gave the arrays."""
        try:
            classes, size = arrays["classes"], int(arrays["image_size"])
            start = checked_start(str(arrays["start"]))
            network = empty_network(start, size, len(classes))
            network.restore(arrays)
        except Exception as error:
            raise ModelError(
                f"The stored network cannot be used ({error}); train it again."
            ) from error
        return cls(placed(network.eval(), best_device()), classes, size, start)


@dataclass(slots=True)
class Run:
    """A training run and how far it has come."""

    network: Network
    optimiser: torch.optim.SGD
    losses: list[float] = field(default_factory=list)  # one for each finished epoch

    def arrays(self) -> Arrays:
        """Everything that a later sitting needs."""
        momenta = {
            f"momentum.{number}": self.optimiser.state[parameter]["momentum_buffer"].cpu().numpy()
            for number, parameter in enumerate(self.network.parameters())
            if parameter in self.optimiser.state
        }
        return self.network.arrays() | momenta | {"losses": np.array(self.losses)}

    def restore(self, arrays: Arrays) -> None:
        """Go on from what `arrays` gave."""
        self.network.restore(arrays)
        for number, parameter in enumerate(self.network.parameters()):
            if f"momentum.{number}" in arrays:
                # Laid out in memory as the weights are: sums are then rounded in the same way.
                momentum = torch.empty_like(parameter, requires_grad=False)
                momentum.copy_(torch.from_numpy(arrays[f"momentum.{number}"]))
                self.optimiser.state[parameter]["momentum_buffer"] = momentum
        self.losses = [float(loss) for loss in arrays["losses"]]


@dataclass(frozen=True, slots=True)
class Finetuning:
    """How a network is trained; calling it trains one.

    Attributes:
        start: "resnet18", small and from a random state; "resnet18:<width>", the same with another
            number of channels than 64 in its first stage, the fewer the faster; or pretrained,
            "efficientnet-lite0", "timm:<model>" or "timm:<model>@<checkpoint file>".
        epochs: At most so many.
        batch_size: Images per step at most; fewer as long as there are few labels.
        learning_rate: Of the first step; falls along half a cosine to 0 in the last epoch. If None,
            0.025 from a random state and 0.001 from a pretrained one.
        patience: Training ends early after so many epochs in which the loss found no new low.
        checkpoint: Where the state is kept after each epoch. If the file holds a run of the same
            images, labels, settings and seed, training goes on from it, to the same result as if it
            had never stopped; any other content is overwritten. Removed at the end.
        on_progress: Called before each step and at the end with the share that is done.
    """

    start: str = RESNET
    epochs: int = 200
    batch_size: int = 100
    learning_rate: float | None = None
    patience: int = 20
    checkpoint: Path | None = None
    on_progress: Progress = ignore

    def __post_init__(self) -> None:
        checked_start(self.start)
        if min(self.epochs, self.patience) < 1 or self.batch_size < 2 or self.first_rate <= 0:
            raise ModelError(
                "Fine-tuning needs 1 epoch or more, a patience of 1 epoch or more, 2 images or "
                f"more in a batch and a learning rate above 0, got {self.epochs}, "
                f"{self.patience}, {self.batch_size} and {self.first_rate}."
            )

    @property
    def first_rate(self) -> float:
        """The learning rate of the first step."""
        if self.learning_rate is not None:
            return self.learning_rate
        return PRETRAINED_RATE if is_pretrained(self.start) else RANDOM_RATE

    def __call__(self, inputs: Inputs, labels: Labels, *, seed: int) -> FinetunedClassifier:
        """Train on labelled images; on a processor, the same input gives the same network.

        Args:
            inputs: uint8 (n, s, s, 3), at least one. A pretrained network wants them in about the
                size that it was trained on.
            labels: Their class ids. One class only gives a classifier that is sure of it.
            seed: Decides the random start, the order of the images and their views.
        """
        check_labels(inputs, labels)
        size = inputs.shape[1] if inputs.ndim == 4 else 0
        check_images(cast(Images, inputs), size)
        images = channels_first(cast(Images, inputs))
        classes, columns = np.unique(labels, return_inverse=True)
        network = starting_network(self.start, images, len(classes), seed=seed)
        network = placed(network, best_device())
        if len(classes) > 1:
            self._train(network, images, torch.from_numpy(columns.reshape(-1)), seed)
        self.on_progress(1.0)
        return FinetunedClassifier(network.eval(), classes, size, self.start)

    def _train(self, network: Network, images: Tensor, targets: Tensor, seed: int) -> None:
        run = Run(network, _optimiser(network))
        digest = self._digest(network, images, targets, seed)
        if self.checkpoint and self.checkpoint.exists():
            _resume(run, self.checkpoint, digest)
        network.train()
        if is_pretrained(self.start):
            keep_statistics(network)
        while len(run.losses) < self.epochs and not stalled(run.losses, self.patience):
            run.losses.append(self._epoch(run, images, targets, seed))
            log.info("epoch %d of %d: loss %.3f", len(run.losses), self.epochs, run.losses[-1])
            if self.checkpoint:
                save_arrays(self.checkpoint, {"digest": np.array(digest), **run.arrays()})
        if self.checkpoint:
            self.checkpoint.unlink(missing_ok=True)

    def _epoch(self, run: Run, images: Tensor, targets: Tensor, seed: int) -> float:
        """Show every image once; gives the mean loss."""
        # Seeded by the epoch: a run that was interrupted draws what it would have drawn.
        epoch_seed = seed * 1_000_003 + len(run.losses)
        generator = torch.Generator().manual_seed(epoch_seed)
        parts = _batches(len(images), self.batch_size, generator)
        total = 0.0
        # Dropout inside a pretrained network takes its chance from the global generators.
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(epoch_seed)
            for number, rows in enumerate(parts):
                share = (len(run.losses) + number / len(parts)) / self.epochs
                self.on_progress(share)
                rate = self.first_rate * (1 + math.cos(math.pi * share)) / 2
                views = random_view(images[rows].float(), generator)
                total += _step(run, views, targets[rows], rate) * len(rows)
        if not math.isfinite(total):
            raise ModelError(
                f"Training lost its way in epoch {len(run.losses) + 1} (the loss is no number); "
                f"choose a learning rate below {self.first_rate}."
            )
        return total / len(images)

    def _digest(self, network: Network, images: Tensor, targets: Tensor, seed: int) -> str:
        """Of everything that decides the result, pretrained weights included."""
        settings = (FORMAT, self.start, self.epochs, self.batch_size, self.first_rate)
        digest = hashlib.sha256(repr((*settings, self.patience, seed)).encode())
        for tensor in (images, targets, *network.state_dict().values()):
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
        return digest.hexdigest()


def stalled(losses: list[float], patience: int) -> bool:
    """True if none of the last `patience` epochs brought the loss to a new low."""
    if len(losses) <= patience:
        return False
    return min(losses[-patience:]) > min(losses[:-patience]) * (1 - FALL)


def _optimiser(network: Network) -> torch.optim.SGD:
    return torch.optim.SGD(
        network.parameters(), momentum=MOMENTUM, nesterov=True, weight_decay=WEIGHT_DECAY
    )


def _batches(count: int, most: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Rows in random order, in about equal parts; never one alone, which has no spread."""
    size = min(most, max(SMALLEST_BATCH, count // BATCHES))
    parts = max(1, min(math.ceil(count / size), count // 2))
    return torch.randperm(count, generator=generator).tensor_split(parts)


def _step(run: Run, views: Tensor, targets: Tensor, rate: float) -> float:
    device = run.network.mean.device
    with half_precision(device, torch.bfloat16):
        logits = run.network(views.to(device))
    loss = functional.cross_entropy(logits.float(), targets.to(device))
    for group in run.optimiser.param_groups:
        group["lr"] = rate
    run.optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    run.optimiser.step()
    return loss.item()


def _resume(run: Run, checkpoint: Path, digest: str) -> None:
    try:
        arrays = load_arrays(checkpoint)
        if str(arrays["digest"]) == digest:
            run.restore(arrays)
        else:
            log.info("%s is of another run: training starts from the beginning", checkpoint)
    except Exception:
        log.exception("%s cannot be resumed: training starts from the beginning", checkpoint)
