"""The dashboard's pages and what they load."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, HTMLResponse

from uherding_backend import project_data
from uherding_backend.dashboard import STATIC, render
from uherding_backend.labels import ProjectId
from uherding_backend.settings import Settings
from uherding_backend.status import overview, project_status
from uherding_backend.store import Store

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
SHOWN = 50  # tasks of the queue on one page
Show = Callable[..., HTMLResponse]


def pages(app: FastAPI, settings: Settings, store: Store, clock: Callable[[], float]) -> APIRouter:
    """Every page."""
    router = APIRouter(include_in_schema=False)
    show = _shower(settings, store, clock)
    _general_pages(router, show, settings, store)
    _project_pages(router, show, settings, store)
    _api_pages(router, app)
    return router


def static_files() -> APIRouter:
    """Scripts and styles: the same for everybody, so they need no password."""
    router = APIRouter(include_in_schema=False)

    @router.get("/static/plotly.min.js")
    def plotly() -> FileResponse:
        return FileResponse(_plotly(), media_type="text/javascript", headers=_cached(30))

    @router.get("/static/{name}")
    def static(name: str) -> FileResponse:
        path = STATIC / Path(name).name
        if not path.is_file():
            return FileResponse(STATIC / "missing.txt", status_code=404)
        return FileResponse(path, media_type=TYPES.get(path.suffix), headers=_cached(0))

    return router


def _shower(settings: Settings, store: Store, clock: Callable[[], float]) -> Show:
    def show(name: str, request: Request, **context: Any) -> HTMLResponse:  # noqa: ANN401
        base = request.scope.get("root_path", "")
        now = clock()
        running = {one["project"]: one for one in project_data.progress(store, now)}
        html = render(
            name, now, base=base, running=running, can_change=settings.has_password, **context
        )
        return HTMLResponse(html, headers={"Cache-Control": "no-store"})

    return show


def _general_pages(router: APIRouter, show: Show, settings: Settings, store: Store) -> None:
    @router.get("/", response_class=HTMLResponse)
    def projects(request: Request) -> HTMLResponse:
        return show("projects.html", request, projects=overview(store, settings))


def _project_pages(router: APIRouter, show: Show, settings: Settings, store: Store) -> None:
    def page(path: str, template: str, data: Callable[[Any], dict[str, Any]]) -> None:
        @router.get(f"/projects/{{project}}{path}", response_class=HTMLResponse)
        def shown(project: int, request: Request) -> HTMLResponse:
            found = store.projects.get(ProjectId(project))
            status = project_status(store, settings, found)
            return show(template, request, project=status, tab=path, **data(found))

    page("", "project.html", lambda one: {"found": project_data.insights(store, one)})
    page(
        "/stop",
        "stop.html",
        lambda one: {
            "stopping": project_data.stopping(store, one),
            "audit": project_data.audit(store, settings, one),
        },
    )
    page("/map", "map.html", lambda one: {"task_link": project_data.task_link(one, 0)[:-1]})
    page("/rounds", "rounds.html", lambda one: {"history": store.rounds.latest(one.id, 500)})
    page(
        "/settings",
        "settings.html",
        lambda one: {
            "choices": project_data.choices(settings, one),
            "actions": store.actions.latest(one.id),
        },
    )

    @router.get("/projects/{project}/queue", response_class=HTMLResponse)
    def queue(project: int, request: Request, start: int = 0) -> HTMLResponse:
        found = store.projects.get(ProjectId(project))
        status = project_status(store, settings, found)
        listed = project_data.queue(store, found, max(0, start), SHOWN)
        return show("queue.html", request, project=status, tab="/queue", queue=listed, shown=SHOWN)

    @router.get("/projects/{project}/rounds/{number}", response_class=HTMLResponse)
    def one_round(project: int, number: int, request: Request) -> HTMLResponse:
        found = store.projects.get(ProjectId(project))
        status = project_status(store, settings, found)
        shown = project_data.one_round(store, found, number)
        return show("round.html", request, project=status, tab="/rounds", round=shown)


def _api_pages(router: APIRouter, app: FastAPI) -> None:
    @router.get("/openapi.json")
    def openapi() -> dict[str, Any]:
        return app.openapi()

    @router.get("/docs", response_class=HTMLResponse)
    def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="openapi.json",
            title="uherding-backend API",
            swagger_js_url="swagger/swagger-ui-bundle.js",
            swagger_css_url="swagger/swagger-ui.css",
            swagger_favicon_url="swagger/favicon-32x32.png",
        )


def _plotly() -> Path:
    """The script that ships with the package, found without importing the package."""
    found = importlib.util.find_spec("plotly")
    origin = found.origin if found else None
    return Path(origin or "").parent / "package_data" / "plotly.min.js"


def _cached(days: int) -> dict[str, str]:
    return {"Cache-Control": f"public, max-age={days * 86_400}" if days else "no-cache"}
