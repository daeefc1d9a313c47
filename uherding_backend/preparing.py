"""Set a newly connected Label Studio project up for queues, and say what was changed."""

from __future__ import annotations

import base64
import hashlib
import logging

from uherding_backend.errors import LabelStudioError, LabelStudioUnreachableError
from uherding_backend.events import WEBHOOK_ACTIONS
from uherding_backend.labelstudio import SAMPLING, LabelStudio, ProjectState, Webhook
from uherding_backend.options import Options
from uherding_backend.settings import Settings
from uherding_backend.store import Project

log = logging.getLogger(__name__)


def prepare(studio: LabelStudio, project: Project, settings: Settings) -> list[str]:
    """Do once what the queue needs; returns sentences for the log and the dashboard.

    Choices that an admin made on purpose and that the queue can live with are left alone and
    only commented on.
    """
    state = studio.project(project.id)
    notes = _prepare_settings(studio, project, state, Options.of(settings, project.options))
    notes += _prepare_webhook(studio, project, settings)
    if state.maximum_annotations > 1:
        notes.append(
            f"The project wants {state.maximum_annotations} annotations per task: Label Studio "
            "serves the second ones in random order. The queue decides the order of the first."
        )
    for note in notes:
        log.info("project %d: %s", project.id, note)
    return notes


def preparation(project: Project, settings: Settings) -> str:
    """What a project is prepared for; when this changes, it must be prepared again."""
    prelabel = Options.of(settings, project.options).prelabel
    facts = f"{project.backend_url} {basic_auth_header(settings)} {prelabel}"
    return hashlib.sha256(facts.encode()).hexdigest()


def _prepare_settings(
    studio: LabelStudio, project: Project, state: ProjectState, options: Options
) -> list[str]:
    changes: dict[str, object] = {}
    notes = []
    if state.sampling != SAMPLING:
        changes["sampling"] = SAMPLING
        notes.append(
            f'Task sampling was changed from "{state.sampling}" to "{SAMPLING}": it makes "Label '
            'All Tasks" follow the queue.'
        )
    shown = state.model_version
    if shown and shown not in studio.prediction_counts(project.id):
        # On connecting, Label Studio puts the backend's title here, and would then wait for
        # /health, /setup and /predict before it serves a task.
        changes["model_version"] = shown = ""
    if options.prelabel and not state.show_collab_predictions:
        changes["show_collab_predictions"] = True
        notes.append('"Use predictions to prelabel tasks" was switched on, as prelabel asks for.')
    if state.show_collab_predictions and not options.prelabel:
        # Label Studio clears model_version when this is switched off without naming one.
        changes |= {"show_collab_predictions": False, "model_version": shown}
        notes.append(
            '"Use predictions to prelabel tasks" was switched off: ticked boxes bias annotators. '
            'Connect with extra_params {"prelabel": true} to have them.'
        )
    if changes:
        studio.update_project(project.id, changes)
    return notes


def _prepare_webhook(studio: LabelStudio, project: Project, settings: Settings) -> list[str]:
    if not project.backend_url:  # under label-studio-ml's server nobody says where it is
        return []
    url = f"{project.backend_url}/webhook"
    fields = {
        "url": url,
        "send_payload": True,
        "send_for_all_actions": False,
        "actions": list(WEBHOOK_ACTIONS),
        "headers": basic_auth_header(settings),
        "is_active": True,
    }
    try:
        mine = [hook for hook in studio.webhooks(project.id) if hook.url == url]
        if mine and _is_as_wanted(mine[0], basic_auth_header(settings)):
            return []
        studio.save_webhook(project.id, fields, mine[0].id if mine else None)
    except LabelStudioUnreachableError:
        raise
    except LabelStudioError as error:
        return [
            f"Label Studio will not call {url} when a label arrives ({error}). The backend looks "
            f"every {settings.poll_seconds:g} s instead. {_webhook_advice(error)}"
        ]
    return ["The webhook was restricted to what concerns labels and tasks."] if mine else []


def _webhook_advice(error: LabelStudioError) -> str:
    if "valid URL" in str(error):
        return "Label Studio wants a host name with a dot in it: connect with such an address."
    return (
        "To be told at once, start Label Studio with USE_DEFAULT_BANNED_SUBNETS=false if the "
        "backend is on a private network."
    )


def _is_as_wanted(hook: Webhook, headers: dict[str, str]) -> bool:
    actions = set() if hook.all_actions else set(hook.actions)
    return hook.active and actions == set(WEBHOOK_ACTIONS) and dict(hook.headers) == headers


def basic_auth_header(settings: Settings) -> dict[str, str]:
    """The header Label Studio must send with webhooks; it knows the password only for the rest."""
    if not settings.has_password:
        return {}
    pair = f"{settings.basic_auth_user}:{settings.basic_auth_pass}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
