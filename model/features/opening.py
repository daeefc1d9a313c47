"""From the name of an extractor to the extractor: pretrained, learned now, or learned before."""

from pathlib import Path

from model.arrays import Images
from model.errors import ModelError
from model.features import Extractor
from model.features.choosing import SMALL_SIDE
from model.features.efficientnet import EfficientNetLite0Extractor
from model.features.names import EFFICIENTNET, PATCHES, SIMCLR, TIMM, checked, timm_parts
from model.features.patches import PatchExtractor
from model.features.simclr import SimClrExtractor
from model.features.simclr_training import Budget, Progress
from model.features.timm_backbone import TimmExtractor

SIMCLR_SIDES = (32, 96)  # pixels, for small images and for photos
CHECKPOINT = "simclr-training.npz"


def learns(name: str) -> bool:
    """True if this extractor learns from images of the pool; False if it comes pretrained."""
    return checked(name) in (PATCHES, SIMCLR)


def open_pretrained(name: str) -> Extractor:
    """An extractor that needs no images, ready for use; weights may have to be downloaded.

    Raises:
        ModelError: The weights cannot be had; the text says what helps.
    """
    if checked(name).startswith(TIMM):
        return TimmExtractor.open(*timm_parts(name))
    if name == EFFICIENTNET:
        return EfficientNetLite0Extractor.open()
    raise ModelError(f"The extractor {name} learns from images; it does not come pretrained.")


def learning_size(name: str, typical_side: int) -> int:
    """Height and width, in pixels, of the images that `learn` wants.

    Args:
        name: An extractor that learns.
        typical_side: Pixels of the longer side of most images.
    """
    if name == PATCHES:
        return PatchExtractor.image_size
    return SIMCLR_SIDES[typical_side > SMALL_SIDE]


def learn(
    name: str,
    images: Images,
    directory: Path,
    *,
    seed: int,
    budget: Budget,
    on_progress: Progress,
) -> Extractor:
    """An extractor that has learned from these images, and lies in the directory for `reopen`.

    Training that was interrupted goes on from its last epoch.

    Args:
        name: An extractor that learns.
        images: Of `learning_size`.
        directory: Of one project; must exist.
        seed: The same images and seed give the same extractor.
        budget: For `simclr`; `patches` takes about a minute in any case.
        on_progress: Called with the share that is done, from 0 to 1, and the seconds that are
            left, None where nobody knows.
    """
    checkpoint = directory / CHECKPOINT
    extractor: PatchExtractor | SimClrExtractor
    if name == PATCHES:
        extractor = PatchExtractor.fit(
            images, seed=seed, on_progress=lambda share: on_progress(share, None)
        )
    elif name == SIMCLR:
        extractor = SimClrExtractor.fit(
            images, seed=seed, budget=budget, on_progress=on_progress, checkpoint=checkpoint
        )
    else:
        raise ModelError(f"The extractor {name} comes pretrained; it does not learn from images.")
    extractor.save(learned_file(directory, extractor.version))
    checkpoint.unlink(missing_ok=True)
    return extractor


def reopen(name: str, version: str, directory: Path) -> Extractor:
    """The very extractor that made features of this version.

    Raises:
        ModelError: It cannot be had any more, for example because its weights have changed.
    """
    path = learned_file(directory, version)
    extractor: Extractor
    if name == PATCHES:
        extractor = PatchExtractor.load(path)
    elif name == SIMCLR:
        extractor = SimClrExtractor.load(path)
    else:
        extractor = open_pretrained(name)
    if extractor.version != version:
        raise ModelError(
            f"The features were made by {version}, but {name} is now {extractor.version}; the next "
            "round computes them again."
        )
    return extractor


def learned_file(directory: Path, version: str) -> Path:
    """Where `learn` leaves an extractor."""
    return directory / f"{version}.npz"
