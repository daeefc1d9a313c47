"""A dictionary of small image patches, learned by k-means, and the code of an image in it.

After Coates, Lee and Ng, "An Analysis of Single-Layer Networks in Unsupervised Feature Learning".
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

PATCH = 6  # pixels; every patch is PATCH x PATCH
GRID = 3  # the code is pooled over GRID x GRID fields of the image
ATOMS = 512
PATCHES_PER_ATOM = 10  # at least; fewer patches make a smaller dictionary
SAMPLED_PATCHES = 50_000
PATCHES_AT_ONCE = 4096  # 8 MB of products, which stay in the cache
SWEEPS = 12  # of k-means; later sweeps hardly move an atom
CONTRAST_FLOOR = 10.0  # of 255^2: below this variance a patch is flat and stays small
WHITENING_FLOOR = 0.1  # keeps noise in the faintest directions from being blown up
IMAGES_AT_ONCE = 8  # 12 MB of codes, which stay in the cache


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Typical whitened patches (atoms) and the whitening that goes before them."""

    mean: Tensor  # (p,), of contrast-normalised patches
    whitening: Tensor  # (p, p)
    atoms: Tensor  # (a, p)

    def encode(self, images: Tensor) -> Tensor:
        """Codes (n, a x GRID x GRID) of images (n, channels, height, width) with values 0 to 255.

        A patch answers with each atom that is nearer than the average atom ("triangle" code).
        The square root keeps one busy texture from outweighing the rest of the image.
        """
        return torch.cat([self._encode_batch(b) for b in torch.split(images, IMAGES_AT_ONCE)])

    def _encode_batch(self, images: Tensor) -> Tensor:
        count, _, height, width = images.shape
        patches = (normalised(all_patches(images)) - self.mean) @ self.whitening  # (n, l, p)
        distances = torch.cdist(
            patches.flatten(0, 1), self.atoms, compute_mode="use_mm_for_euclid_dist"
        )  # (n l, a)
        farness = distances.sub_(distances.mean(-1, keepdim=True)).clamp_(max=0)
        fields = farness.view(count, height - PATCH + 1, width - PATCH + 1, len(self.atoms))
        pooled = functional.adaptive_avg_pool2d(fields.permute(0, 3, 1, 2), GRID)
        return pooled.neg_().flatten(1).sqrt_()


def learn_dictionary(images: Tensor, generator: torch.Generator) -> Dictionary:
    """Learn the atoms from images (n, channels, height, width) with values 0 to 255."""
    patches = normalised(_sampled_patches(images, generator))
    mean = patches.mean(0)
    whitening = _whitening(patches - mean)
    return Dictionary(mean, whitening, _atoms((patches - mean) @ whitening, generator))


def all_patches(images: Tensor) -> Tensor:
    """Every patch of every image, (n, l, p), row by row from the top left."""
    return functional.unfold(images, PATCH).transpose(1, 2)


def normalised(patches: Tensor) -> Tensor:
    """Patches with mean 0 and, unless they are flat, variance 1."""
    centred = patches - patches.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + CONTRAST_FLOOR).sqrt()


def _sampled_patches(images: Tensor, generator: torch.Generator) -> Tensor:
    """Up to SAMPLED_PATCHES patches, (m, p), as many from each image as from any other."""
    per_image = max(1, math.ceil(SAMPLED_PATCHES / len(images)))
    sampled = []
    for batch in torch.split(images, 64):
        patches = all_patches(batch)
        chosen = torch.randperm(patches.shape[1], generator=generator)[:per_image]
        sampled.append(patches[:, chosen].flatten(0, 1))
    return torch.cat(sampled)


def _whitening(patches: Tensor) -> Tensor:
    """ZCA: the symmetric map that makes the covariance of the patches (nearly) the identity."""
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    whitening: Tensor = (vectors * (values.clamp(min=0) + WHITENING_FLOOR).rsqrt()) @ vectors.T
    return whitening


def _atoms(patches: Tensor, generator: torch.Generator) -> Tensor:
    """Centres of k-means; an atom that loses all its patches stays where it is."""
    count = max(1, min(ATOMS, len(patches) // PATCHES_PER_ATOM))
    atoms = patches[torch.randperm(len(patches), generator=generator)[:count]]
    for _ in range(SWEEPS):
        nearest = _nearest_atoms(patches, atoms)
        sums = torch.zeros_like(atoms).index_add_(0, nearest, patches)
        sizes = torch.bincount(nearest, minlength=count)[:, None]
        atoms = torch.where(sizes > 0, sums / sizes.clamp(min=1), atoms)
    return atoms


def _nearest_atoms(patches: Tensor, atoms: Tensor) -> Tensor:
    half_lengths = atoms.square().sum(1) / 2
    batches = torch.split(patches, PATCHES_AT_ONCE)
    return torch.cat([(batch @ atoms.T - half_lengths).argmax(1) for batch in batches])
