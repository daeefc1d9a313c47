"""Which extractor a project gets: the one that was asked for, or the best one that can be had."""

from collections.abc import Callable
from dataclasses import dataclass

from model.features.hub import DEFAULT_MODEL, hub_answers, weights_are_cached
from model.features.names import AUTO, EFFICIENTNET, PATCHES, TIMM, checked

SMALL_SIDE = 48  # pixels: up to here a few patches say what the picture shows


@dataclass(frozen=True, slots=True)
class Choice:
    """An extractor to be opened, never "auto", and a sentence that says why this one."""

    name: str
    reason: str


def choose(
    wanted: str,
    typical_side: int,
    *,
    cached: Callable[[str], bool] = weights_are_cached,
    answers: Callable[[], bool] = hub_answers,
) -> Choice:
    """Decide what "auto" means here and now; any other name means itself.

    Args:
        wanted: One of KNOWN, as written in the settings.
        typical_side: Pixels of the longer side of most images.
        cached: True if the weights of a timm model are on this machine.
        answers: True if the model hub answers; asked only if the weights are not here.

    Raises:
        ModelError: There is no such extractor.
    """
    if wanted != AUTO:
        return Choice(checked(wanted), f"The setting asks for {wanted}.")
    if cached(DEFAULT_MODEL):
        return Choice(TIMM + DEFAULT_MODEL, "The weights of DINOv2 are on this machine.")
    if answers():
        return Choice(TIMM + DEFAULT_MODEL, "The model hub answers and has the weights of DINOv2.")
    absent = "The weights of DINOv2 are not on this machine and the model hub does not answer"
    if typical_side <= SMALL_SIDE:
        return Choice(PATCHES, f"{absent}; the images are small (about {typical_side} pixels).")
    return Choice(EFFICIENTNET, f"{absent}; the images are photos (about {typical_side} pixels).")
