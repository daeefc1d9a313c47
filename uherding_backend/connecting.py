"""Connect an existing Label Studio project, as an admin would in Settings > Model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uherding_backend.errors import LabelStudioError, SettingsError
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import LabelStudio
from uherding_backend.options import Options
from uherding_backend.settings import Settings

TITLE = "UHerding"  # never the name of a version: Label Studio would ask /predict for every task


def client(settings: Settings) -> LabelStudio:
    """Label Studio as the settings' user."""
    if not settings.label_studio_url or not settings.label_studio_api_key:
        raise SettingsError(
            "Set LABEL_STUDIO_URL and LABEL_STUDIO_API_KEY (Account & Settings in Label Studio) to "
            "connect a project from here."
        )
    return LabelStudio(settings.label_studio_url, settings.label_studio_api_key)


def connect_project(
    settings: Settings, project: ProjectId, backend_url: str, options: Mapping[str, Any]
) -> str:
    """Have Label Studio call this backend for a project; returns the project's title.

    Connecting again without options keeps the ones it was connected with.
    """
    studio = client(settings)
    state = studio.project(project)
    parse_label_config(state.label_config)  # Label Studio would not pass the reason on
    Options.of(settings, options)
    url = backend_url.rstrip("/")
    mine = [b for b in studio.ml_backends(project) if b["url"] == url or b["title"] == TITLE]
    options = options or (mine[0].get("extra_params") if mine else None) or {}
    fields: dict[str, Any] = {"url": url, "title": TITLE, "extra_params": dict(options)}
    if settings.has_password:
        fields |= {
            "auth_method": "BASIC_AUTH",
            "basic_auth_user": settings.basic_auth_user,
            "basic_auth_pass": settings.basic_auth_pass,
        }
    try:
        studio.save_ml_backend(project, fields, mine[0]["id"] if mine else None)
    except LabelStudioError as error:
        raise LabelStudioError(f"{error} {_advice(error, url)}", error.status) from error
    if mine and mine[0]["url"] != url:
        _delete_webhooks(studio, project, mine[0]["url"])
    return state.title


def disconnect_project(settings: Settings, project: ProjectId, backend_url: str) -> None:
    """Have Label Studio stop calling this backend; the queue that is up stays."""
    studio = client(settings)
    _delete_webhooks(studio, project, backend_url)
    for backend in studio.ml_backends(project):
        if backend["url"].rstrip("/") == backend_url:
            studio.delete(f"/api/ml/{backend['id']}")


def _delete_webhooks(studio: LabelStudio, project: ProjectId, backend_url: str) -> None:
    """Label Studio itself leaves them behind, calling for ever."""
    for hook in studio.webhooks(project):
        if hook.url == f"{backend_url.rstrip('/')}/webhook":
            studio.delete(f"/api/webhooks/{hook.id}/")


def _advice(error: LabelStudioError, url: str) -> str:
    if error.status == 403 and "reserved network" in str(error):
        return (
            "Label Studio refuses backends on private networks unless it is started with "
            "USE_DEFAULT_BANNED_SUBNETS=false."
        )
    return f"Is the backend running (`uherding serve`), and can Label Studio reach {url}?"
