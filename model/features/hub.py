"""The weights of timm models: in the cache, on the hub, or not to be had."""

import logging
import threading
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants

from model.errors import ModelError
from model.torchvision_import import import_timm

log = logging.getLogger(__name__)

DEFAULT_MODEL = "vit_small_patch14_reg4_dinov2.lvd142m"
WEIGHTS = "model.safetensors"  # never the pickled file that lies beside it
ANSWER_SECONDS = 3.0


def weights_are_cached(model: str) -> bool:
    """True if the hub is not needed to load this timm model."""
    return cached_weights(model) is not None


def cached_weights(model: str) -> Path | None:
    """The downloaded weights of a timm model, without asking the network."""
    repository = repository_of(model)
    found = huggingface_hub.try_to_load_from_cache(repository, WEIGHTS) if repository else None
    return Path(found) if isinstance(found, str) else None


def hub_answers(seconds: float = ANSWER_SECONDS, model: str = DEFAULT_MODEL) -> bool:
    """True if the hub says within these seconds that it has the weights of this timm model."""
    repository = repository_of(model)
    if repository is None or constants.is_offline_mode():
        return False
    address = f"{constants.ENDPOINT}/{repository}/resolve/main/{WEIGHTS}"
    answered = threading.Event()
    # In a thread, because looking up a host name knows no time limit.
    question = threading.Thread(target=_ask, args=(address, seconds, answered), daemon=True)
    question.start()
    question.join(seconds)
    return answered.is_set()


def weights_file(model: str) -> Path:
    """The weights of a timm model, downloaded if they are not in the cache.

    Raises:
        ModelError: They cannot be had; the text says what helps.
    """
    found = cached_weights(model)
    if found:
        return found
    repository = repository_of(model)
    if repository is None:
        raise ModelError(
            f"timm offers no weights for {model!r}; choose one of timm.list_pretrained() or name "
            f"a checkpoint file: timm:{model}@/path/to/weights.safetensors."
        )
    # The hub's own client tries again for half a minute before it gives up.
    if not hub_answers(3 * ANSWER_SECONDS, model):
        raise ModelError(_cannot_download(model, repository, "the model hub does not answer"))
    try:
        return Path(huggingface_hub.hf_hub_download(repository, WEIGHTS))
    except Exception as error:  # transport errors of several libraries, full disks
        raise ModelError(_cannot_download(model, repository, str(error))) from error


def repository_of(model: str) -> str | None:
    """Where the hub keeps the weights of a timm model; None if nowhere."""
    timm = import_timm()
    config = timm.get_pretrained_cfg(model) if timm.is_model(model) else None
    return config.hf_hub_id if config else None


def _cannot_download(model: str, repository: str, reason: str) -> str:
    return (
        f"The weights of {model} cannot be downloaded ({reason}). On a machine with network run "
        f"`hf download {repository}` and copy ~/.cache/huggingface here, or name a "
        f"checkpoint file: timm:{model}@/path/to/model.safetensors."
    )


def _ask(address: str, seconds: float, answered: threading.Event) -> None:
    try:
        response = huggingface_hub.get_session().head(address, timeout=seconds)
    except Exception as error:  # noqa: BLE001 - whatever it is, the hub cannot be reached
        log.info("the model hub cannot be reached: %s", error)
        return
    if response.status_code < 400:
        answered.set()
