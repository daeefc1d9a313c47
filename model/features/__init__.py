"""Extractors: RGB images in, unit feature rows out. None of them ever sees a label.

Start reading in ``model/features/choosing.py`` (which extractor?) and ``opening.py`` (get it).
"""

from typing import Protocol

from model.arrays import Features, Images


class Extractor(Protocol):
    """What the rest of the project knows about features."""

    @property
    def name(self) -> str:
        """Which extractor this is, as written in the settings."""

    @property
    def description(self) -> str:
        """What made its features, in a few words for people."""

    @property
    def version(self) -> str:
        """Changes whenever the features of one and the same image may change; a file name."""

    @property
    def dimension(self) -> int:
        """Length of a feature row."""

    @property
    def image_size(self) -> int:
        """Height and width, in pixels, of the images it wants."""

    def extract(self, images: Images) -> Features:
        """One unit row for each image, in the same order."""
