"""Settings: read once from the environment, frozen, handed down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from model.names import CLASSIFIERS, DEFAULT_CLASSIFIER, DEFAULT_STRATEGY, STRATEGY_NAMES
from uherding_backend.errors import SettingsError

LOOPBACK = "127.0.0.1"
MOST_AUDITED = 0.5  # of the queue: labels that are never trained on


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything an operator can decide; docs/settings.md explains each one."""

    data_dir: Path = Path("data")
    host: str = ""
    port: int = 9090
    label_studio_url: str = ""
    label_studio_api_key: str = ""
    basic_auth_user: str = ""
    basic_auth_pass: str = ""
    local_files_root: Path | None = None
    round_size: int = 50
    queue_size: int = 0
    prelabel: bool = False
    features: str = "auto"
    simclr_epochs: int = 200
    strategy: str = DEFAULT_STRATEGY
    classifier: str = DEFAULT_CLASSIFIER
    finetune_from: str = "resnet18"
    finetune_epochs: int = 200
    skip_duplicates: bool = False
    audit_fraction: float = 0.0
    poll_seconds: float = 30.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings; what is missing or empty keeps its default."""
        given = {name: value for name, value in environment.items() if value.strip()}
        root = given.get("LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT")
        settings = cls(
            data_dir=Path(given.get("UHERDING_DATA_DIR", "data")),
            host=given.get("UHERDING_HOST", ""),
            port=_whole(given, "UHERDING_PORT", 9090, at_least=1),
            label_studio_url=given.get("LABEL_STUDIO_URL", "").rstrip("/"),
            label_studio_api_key=given.get("LABEL_STUDIO_API_KEY", "").strip(),
            basic_auth_user=given.get("BASIC_AUTH_USER", ""),
            basic_auth_pass=given.get("BASIC_AUTH_PASS", ""),
            local_files_root=Path(root) if root else None,
            round_size=_whole(given, "UHERDING_ROUND_SIZE", 50, at_least=1),
            queue_size=_whole(given, "UHERDING_QUEUE_SIZE", 0, at_least=0),
            prelabel=_switch(given, "UHERDING_PRELABEL"),
            features=given.get("UHERDING_FEATURES", "auto").strip(),
            simclr_epochs=_whole(given, "UHERDING_SIMCLR_EPOCHS", 200, at_least=1),
            strategy=_one_of(given, "UHERDING_STRATEGY", DEFAULT_STRATEGY, STRATEGY_NAMES),
            classifier=_one_of(given, "UHERDING_CLASSIFIER", DEFAULT_CLASSIFIER, CLASSIFIERS),
            finetune_from=given.get("UHERDING_FINETUNE_FROM", "resnet18").strip(),
            finetune_epochs=_whole(given, "UHERDING_FINETUNE_EPOCHS", 200, at_least=1),
            skip_duplicates=_switch(given, "UHERDING_SKIP_DUPLICATES"),
            audit_fraction=_share(given, "UHERDING_AUDIT_FRACTION", most=MOST_AUDITED),
            poll_seconds=_seconds(given, "UHERDING_POLL_SECONDS", 30.0),
        )
        return settings.checked()

    def checked(self) -> Settings:
        """Refuse combinations that cannot work; fill in the host that follows from the rest."""
        if self.label_studio_url:
            check_url("LABEL_STUDIO_URL", self.label_studio_url)
        if self.label_studio_api_key and not self.label_studio_url:
            raise SettingsError(
                "LABEL_STUDIO_API_KEY is set but LABEL_STUDIO_URL is not. Set both: the key is "
                "only ever sent to that address."
            )
        if bool(self.basic_auth_user) != bool(self.basic_auth_pass):
            raise SettingsError("Set both BASIC_AUTH_USER and BASIC_AUTH_PASS, or neither.")
        if not f"{self.basic_auth_user}{self.basic_auth_pass}".isascii() or (
            ":" in self.basic_auth_user
        ):
            raise SettingsError(
                "BASIC_AUTH_USER and BASIC_AUTH_PASS must be ASCII, the user without a colon: "
                "Basic authentication cannot carry anything else."
            )
        if self.host and self.host not in (LOOPBACK, "localhost", "::1") and not self.has_password:
            raise SettingsError(
                f"UHERDING_HOST is {self.host!r}, which other machines can reach. Set "
                "BASIC_AUTH_USER and BASIC_AUTH_PASS first, or leave UHERDING_HOST empty."
            )
        return replace(self, host=self.host or ("0.0.0.0" if self.has_password else LOOPBACK))  # noqa: S104

    @property
    def has_password(self) -> bool:
        """Whether callers must authenticate."""
        return bool(self.basic_auth_user)


def check_url(name: str, url: str) -> None:
    """Raise a sentence if ``url`` is not an http(s) address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingsError(
            f"{name} must start with http:// or https://, got {url!r}. "
            "Inside docker compose use http://label-studio:8080."
        )


def _whole(given: Mapping[str, str], name: str, default: int, *, at_least: int) -> int:
    text = given.get(name, str(default))
    if not text.strip().isdecimal() or int(text) < at_least:
        raise SettingsError(f"{name} must be a whole number of {at_least} or more, got {text!r}.")
    return int(text)


def _one_of(given: Mapping[str, str], name: str, default: str, known: Iterable[str]) -> str:
    text = given.get(name, default).strip()
    if text not in known:
        raise SettingsError(f"{name} must be one of {', '.join(known)}, got {text!r}.")
    return text


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name, str(default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86400:
        raise SettingsError(f"{name} must be a number of seconds above 0, got {text!r}.")
    return seconds


def _share(given: Mapping[str, str], name: str, *, most: float) -> float:
    text = given.get(name, "0")
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= most:
        raise SettingsError(f"{name} must be a number from 0 to {most:g}, got {text!r}.")
    return share


def _switch(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "false").strip().lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise SettingsError(f"{name} must be true or false, got {text!r}.")
    return text in ("true", "1", "yes")
