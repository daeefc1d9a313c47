import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from model.features.dictionary import (
    CONTRAST_FLOOR,
    GRID,
    IMAGES_AT_ONCE,
    PATCH,
    Dictionary,
    learn_dictionary,
)


def pictures(count: int, channels: int) -> torch.Tensor:
    """Random blobs with values 0 to 255."""
    generator = torch.Generator().manual_seed(count)
    blobs = torch.rand(count, channels, 8, 8, generator=generator) * 255
    return torch.nn.functional.interpolate(blobs, (32, 32), mode="bilinear")


def by_hand(dictionary: Dictionary, image: NDArray[np.float64]) -> NDArray[np.float64]:
    """The code of one image (channels, 32, 32), patch by patch, after Coates, Lee and Ng."""
    mean, whitening, atoms = (
        part.double().numpy() for part in (dictionary.mean, dictionary.whitening, dictionary.atoms)
    )
    places = 32 - PATCH + 1
    nearness = np.empty((len(atoms), places, places))
    for top, left in np.ndindex(places, places):
        patch = image[:, top : top + PATCH, left : left + PATCH].ravel()
        patch = (patch - patch.mean()) / np.sqrt(patch.var() + CONTRAST_FLOOR)
        distances = np.linalg.norm(atoms - (patch - mean) @ whitening, axis=1)
        nearness[:, top, left] = np.maximum(distances.mean() - distances, 0.0)
    side = places // GRID
    fields = nearness.reshape(len(atoms), GRID, side, GRID, side).mean(axis=(2, 4))
    return np.asarray(np.sqrt(fields).ravel())


@pytest.mark.parametrize("channels", [1, 3])
def test_codes_are_those_of_the_paper_in_the_order_of_the_images(channels: int) -> None:
    images = pictures(IMAGES_AT_ONCE + 1, channels)
    dictionary = learn_dictionary(images, torch.Generator().manual_seed(0))

    codes = dictionary.encode(images)

    expected = [by_hand(dictionary, image) for image in images.double().numpy()]
    np.testing.assert_allclose(codes, np.stack(expected), atol=1e-4)


def test_a_patch_that_is_an_atom_has_a_code_without_gaps() -> None:
    """Its distance is 0, and rounding makes the square of that negative before the root."""
    images = pictures(4, 1)
    dictionary = learn_dictionary(images, torch.Generator().manual_seed(0))
    flat = torch.full((1, 1, 32, 32), 90.0)
    whitened = -dictionary.mean @ dictionary.whitening  # of any patch without contrast
    atoms = torch.cat([dictionary.atoms[:50], whitened[None]])

    codes = Dictionary(dictionary.mean, dictionary.whitening, atoms).encode(flat)

    assert codes.isfinite().all()
    assert set(codes.view(len(atoms), -1).argmax(0).tolist()) == {50}
