"""Extractors: RGB images in, unit feature rows out. None of them ever sees a label."""

from typing import Protocol

from model.arrays import Features, Images


class Extractor(Protocol):
    """What the rest of the project knows about features."""

    @property
    def name(self) -> str:
        """Which kind of extractor this is, as written in the settings."""

    @property
    def version(self) -> str:
        """Changes whenever the features of one and the same image may change."""

    @property
    def dimension(self) -> int:
        """Length of a feature row."""

    @property
    def image_size(self) -> int:
        """Height and width, in pixels, of the images it wants."""

    def extract(self, images: Images) -> Features:
        """One unit row for each image, in the same order."""
