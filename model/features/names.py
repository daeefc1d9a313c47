"""The names of extractors, as settings write them. Loads nothing heavy."""

from pathlib import Path

from model.errors import ModelError

AUTO = "auto"
PATCHES = "patches"
SIMCLR = "simclr"
EFFICIENTNET = "efficientnet-lite0"
TIMM = "timm:"
KNOWN = (AUTO, PATCHES, SIMCLR, EFFICIENTNET, f"{TIMM}<model>", f"{TIMM}<model>@<checkpoint file>")


def checked(name: str) -> str:
    """The name as it is; refused if it is neither "auto" nor the name of an extractor."""
    if name in (AUTO, PATCHES, SIMCLR, EFFICIENTNET) or (
        name.startswith(TIMM) and timm_parts(name)[0]
    ):
        return name
    raise ModelError(f"There is no feature extractor {name!r}; choose one of {', '.join(KNOWN)}.")


def timm_parts(name: str) -> tuple[str, Path | None]:
    """The model and the checkpoint file, if any, in "timm:<model>@<checkpoint file>"."""
    model, _, checkpoint = name.removeprefix(TIMM).partition("@")
    return model, Path(checkpoint) if checkpoint else None
