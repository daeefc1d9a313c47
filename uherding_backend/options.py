"""What an admin may choose per project, through Label Studio's ``extra_params``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uherding_backend.errors import SettingsError
from uherding_backend.settings import Settings

NAMES = ("round_size", "queue_size", "prelabel")
MAX_QUEUE = 2000  # Label Studio takes about 5 s to store that many, and as long to delete them


@dataclass(frozen=True, slots=True)
class Options:
    """How one project is run.

    Attributes:
        round_size: New labels that make a round due.
        queue_size: Tasks in a published queue. Three rounds' worth, unless chosen, so that
            annotators never run dry while a round is computed.
        prelabel: Whether predictions tick the predicted class in the annotator's form.
    """

    round_size: int
    queue_size: int
    prelabel: bool

    @property
    def low_water(self) -> int:
        """Unlabelled tasks left in the queue at which a new one is due."""
        return max(2, self.queue_size // 5)

    @classmethod
    def of(cls, settings: Settings, extra_params: Mapping[str, Any]) -> Options:
        """A project's own choices over the settings; a SettingsError says what is wrong."""
        unknown = sorted(set(extra_params) - set(NAMES))
        if unknown:
            raise SettingsError(
                f"extra_params has {', '.join(map(repr, unknown))}; known are {', '.join(NAMES)}."
            )
        round_size = _number(extra_params, "round_size", settings.round_size, at_least=1)
        queue_size = _number(extra_params, "queue_size", settings.queue_size, at_least=0)
        prelabel = extra_params.get("prelabel", settings.prelabel)
        if not isinstance(prelabel, bool):
            raise SettingsError(f"extra_params prelabel must be true or false, got {prelabel!r}.")
        wanted = queue_size or 3 * round_size
        return cls(round_size, min(max(wanted, round_size), MAX_QUEUE), prelabel)


def _number(given: Mapping[str, Any], name: str, default: int, *, at_least: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise SettingsError(
            f"extra_params {name} must be a whole number of {at_least} or more, got {value!r}."
        )
    return value
