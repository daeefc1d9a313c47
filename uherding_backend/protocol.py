"""Label Studio's ML protocol: what each call means here, whichever server carries it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uherding_backend.errors import SettingsError, UnknownProjectError
from uherding_backend.events import Event, Hint, parse_event, parse_project_id
from uherding_backend.images_source import ImageSource
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import ProjectId, parse_annotation
from uherding_backend.labelstudio import Connect
from uherding_backend.options import Options
from uherding_backend.predictions import LAST, prediction
from uherding_backend.settings import Settings, check_url
from uherding_backend.store import Project, Store
from uherding_backend.store.project_records import Connection

if TYPE_CHECKING:  # loading the model takes seconds and is only needed by /predict
    from uherding_backend.predictor import Predictor

log = logging.getLogger(__name__)

NO_VERSION = "uherding-no-queue-yet"


@dataclass
class Protocol:
    """Writes down what Label Studio says and answers from what rounds stored."""

    store: Store
    settings: Settings
    clock: Callable[[], float]
    connect: Connect
    _predictors: dict[ProjectId, Predictor] = field(default_factory=dict)

    def setup(self, request: Mapping[str, Any], backend_url: str) -> str:
        """Connect a project, or hear of it again; returns the version that annotators get.

        Raises:
            LabelConfigError: The labelling interface is not supported.
            SettingsError: The ``extra_params`` cannot be used.
        """
        uid = str(request.get("project") or "")
        project = self._project_id(uid)
        label_config = str(request.get("schema") or "")
        extra_params = request.get("extra_params") or {}
        if not isinstance(extra_params, Mapping):
            raise SettingsError(f"extra_params must be a JSON object, got {extra_params!r}.")
        hostname = str(request.get("hostname") or "").rstrip("/")
        if hostname:  # label-studio-ml's server does not pass it on
            check_url("The address that Label Studio gives as its own", hostname)
        parse_label_config(label_config)
        Options.of(self.settings, extra_params)
        known = self.store.projects.find(project)
        if known is not None and known.active:
            _refuse_other_server(known, uid)
        elif known is not None:
            self.store.projects.doubt_tasks(project)  # it may be one of another server
        own_token = bool(self.settings.label_studio_api_key)
        self.store.projects.connect(
            Connection(
                project=project,
                uid=uid,
                label_studio_url=self.settings.label_studio_url or hostname,
                link_url=hostname or self.settings.label_studio_url,
                token="" if own_token else str(request.get("access_token") or ""),
                backend_url=backend_url.rstrip("/"),
                label_config=label_config,
                options=extra_params,
            )
        )
        return self.version(project)

    def version(self, project: ProjectId) -> str:
        """The model_version of the published queue."""
        published = self.store.rounds.last_published(project)
        return published.version if published and published.version else NO_VERSION

    def webhook(self, payload: object) -> str:
        """Write an event down; nothing is computed. Returns what was done with it."""
        event = parse_event(payload)
        project = self.store.projects.find(event.project) if event else None
        if event is None or project is None or not project.active:
            return "ignored"
        now = self.clock()
        look = event.hint in (Hint.LOOK, Hint.TASKS)
        self.store.projects.heard(project.id, now, look=look)
        if event.hint is Hint.TASKS:
            self.store.projects.doubt_tasks(project.id)
        if event.hint is Hint.TRAIN:
            self.store.rounds.ask(project.id, "asked for with Start Training", now)
        elif not look:
            self._note_annotations(project, event)
        return "recorded"

    def predict(self, uid: str, tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Predictions for these tasks, from the last published round."""
        project = self.store.projects.get(self._project_id(uid))
        published = self.store.rounds.last_published(project.id)
        if published is None:
            results = [prediction([], LAST, NO_VERSION) for _ in tasks]
            return {"results": results, "model_version": NO_VERSION}
        predictor = self._predictor(project)
        source = ImageSource(self.connect(project), self.settings.local_files_root)
        results = predictor.predict(tasks, source)
        return {"results": results, "model_version": predictor.round.version}

    def versions(self, uid: str) -> list[str]:
        """The published versions of a project, or of all of them."""
        known = self.store.projects.all()
        wanted = [p for p in known if p.uid == uid or str(p.id) == uid] or known
        return [self.version(project.id) for project in wanted]

    def _note_annotations(self, project: Project, event: Event) -> None:
        if event.annotation is None:
            self.store.pool.delete_annotations(project.id, event.deleted)
            return
        control = parse_label_config(project.label_config).control
        self.store.pool.save_annotation(project.id, parse_annotation(event.annotation, control))

    def _predictor(self, project: Project) -> Predictor:
        from uherding_backend.predictor import Predictor

        published = self.store.rounds.last_published(project.id)
        loaded = self._predictors.get(project.id)
        if published is not None and (loaded is None or loaded.round.id != published.id):
            loaded = Predictor.load(self.store, project, published)
            self._predictors[project.id] = loaded
        if loaded is None:
            raise UnknownProjectError(f"Project {project.id} has no published round.")
        return loaded

    def _project_id(self, uid: str) -> ProjectId:
        project = parse_project_id(uid)
        if project is None:
            raise UnknownProjectError(f"{uid!r} is not a Label Studio project id such as 12.179.")
        return project


def _refuse_other_server(known: Project, uid: str) -> None:
    if known.uid != uid:
        raise SettingsError(
            f"A project {known.id} of another Label Studio (or of an earlier database) is "
            f"already connected here. Run `uherding disconnect {known.id}` first, or give this "
            "one a backend with its own UHERDING_DATA_DIR."
        )
