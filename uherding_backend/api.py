"""The JSON beside every page, under /api: what there is to see. Never trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import FileResponse

from uherding_backend import project_data
from uherding_backend.labels import ProjectId
from uherding_backend.settings import Settings
from uherding_backend.status import overview, project_status, round_status
from uherding_backend.store import Project, Store

DAY = 86_400
Found = Callable[[int], Project]


def reading_api(settings: Settings, store: Store, clock: Callable[[], float]) -> APIRouter:
    """Everything that can be read."""

    def found(project: int) -> Project:
        return store.projects.get(ProjectId(project))

    router = APIRouter(prefix="/api")
    router.include_router(_all_projects(settings, store, clock), tags=["Projects"])
    for part in (
        _project_and_rounds(settings, store, found),
        _how_good(settings, store, found),
        _queue(store, found),
        _pictures(store, found),
        _choices(settings, store, found),
    ):
        router.include_router(part, prefix="/projects/{project}", tags=["Project"])
    return router


def _all_projects(settings: Settings, store: Store, clock: Callable[[], float]) -> APIRouter:
    router = APIRouter()

    @router.get("/projects")
    def projects() -> list[dict[str, Any]]:
        """Every connected project with its state."""
        return overview(store, settings)

    @router.get("/progress")
    def progress() -> list[dict[str, Any]]:
        """What runs in every project, how far it is and how long it will take."""
        return project_data.progress(store, clock())

    return router


def _project_and_rounds(settings: Settings, store: Store, found: Found) -> APIRouter:
    router = APIRouter()

    @router.get("")
    def one_project(project: int) -> dict[str, Any]:
        """One project with its rounds."""
        return project_status(store, settings, found(project))

    @router.get("/rounds")
    def rounds(project: int, limit: int = 50) -> list[dict[str, Any]]:
        """The project's rounds, newest first."""
        return [round_status(one) for one in store.rounds.latest(found(project).id, limit)]

    @router.get("/rounds/{number}")
    def one_round(project: int, number: int) -> dict[str, Any]:
        """One round with its report and all that it found out."""
        return project_data.one_round(store, found(project), number)

    return router


def _how_good(settings: Settings, store: Store, found: Found) -> APIRouter:
    router = APIRouter()

    @router.get("/curve")
    def curve(project: int) -> dict[str, Any]:
        """Accuracy by labels; temperature, ECE, radius and coverage by round."""
        return project_data.curve(store, found(project))

    @router.get("/curve/classes")
    def class_curves(project: int) -> dict[str, list[dict[str, Any]]]:
        """How well each class was recognised, round by round."""
        return project_data.class_curves(store, found(project))

    @router.get("/insights")
    def insights(project: int) -> dict[str, Any]:
        """Classes, reliability, annotators, disagreements and likely label errors."""
        return project_data.insights(store, found(project))

    @router.get("/stopping")
    def stopping(project: int) -> dict[str, Any]:
        """What 100, 500 and 1,000 more labels would bring, and whether to go on."""
        return project_data.stopping(store, found(project))

    @router.get("/audit")
    def audit(project: int) -> dict[str, Any]:
        """The audit slice: unbiased accuracy, and active against random selection."""
        return project_data.audit(store, settings, found(project))

    return router


def _queue(store: Store, found: Found) -> APIRouter:
    router = APIRouter()

    @router.get("/queue")
    def queue(project: int, start: int = 0, count: int | None = None) -> dict[str, Any]:
        """The published queue, best task first, with a reason for each task."""
        return project_data.queue(store, found(project), max(0, start), count)

    return router


def _pictures(store: Store, found: Found) -> APIRouter:
    router = APIRouter()

    @router.get("/map", response_class=FileResponse)
    def pool_map(project: int) -> FileResponse:
        """A place for every image with its class and uncertainty, by columns; gzip."""
        published = store.rounds.last_published(found(project).id)
        path = store.map_path(project, published.id if published else 0)
        if not path.exists():
            raise HTTPException(404, "No round has drawn a map yet.")
        headers = {"Content-Encoding": "gzip", "Cache-Control": "private, no-cache"}
        return FileResponse(path, media_type="application/json", headers=headers)

    @router.get("/thumbnails/{task}", response_class=Response)
    def thumbnail(project: int, task: int) -> Response:
        """A task's small picture: the browser needs no Label Studio token."""
        jpeg = project_data.thumbnail(store, found(project).id, task)
        if jpeg is None:
            raise HTTPException(404, f"There is no thumbnail of task {task}.")
        headers = {"Cache-Control": f"private, max-age={DAY}"}
        return Response(jpeg, media_type="image/jpeg", headers=headers)

    return router


def _choices(settings: Settings, store: Store, found: Found) -> APIRouter:
    router = APIRouter()

    @router.get("/settings")
    def choices(project: int) -> dict[str, Any]:
        """What can be changed here, and what is in force."""
        return project_data.choices(settings, found(project))

    @router.get("/actions")
    def actions(project: int) -> list[dict[str, Any]]:
        """Who changed what and when, newest first."""
        latest = store.actions.latest(found(project).id)
        return [{"at": one.at, "who": one.who, "what": one.what} for one in latest]

    return router
