"""HTTP: Label Studio's ML protocol, the admin API and the status page. Never trains."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Annotated, Any

import swagger_ui_bundle
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPBasic, HTTPBasicCredentials
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from uherding_backend.dashboard import status_page
from uherding_backend.errors import LabelStudioError, UHerdingError, UnknownProjectError
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import connect_with
from uherding_backend.protocol import Protocol
from uherding_backend.settings import Settings
from uherding_backend.status import overview, project_status, round_status
from uherding_backend.store import Store

log = logging.getLogger(__name__)

_BASIC = HTTPBasic(auto_error=False)


class SetupRequest(BaseModel):
    """What Label Studio sends when a project is connected or looked at."""

    model_config = ConfigDict(extra="allow")
    project: str = Field(examples=["12.1794785425"])
    label_config: str = Field("", alias="schema")
    hostname: str = ""
    access_token: str | None = None
    extra_params: dict[str, Any] | None = None


class PredictRequest(BaseModel):
    """Tasks to predict for."""

    model_config = ConfigDict(extra="allow")
    tasks: list[dict[str, Any]]
    project: str = Field(examples=["12.1794785425"])


def create_app(settings: Settings, store: Store, clock: Callable[[], float]) -> FastAPI:
    """The web application; a password, if set, guards all but /health and static files."""
    app = FastAPI(
        title="uherding-backend",
        description="Puts the most useful tasks first in Label Studio, with Uncertainty Herding.",
        docs_url=None,  # FastAPI's page loads its scripts from a CDN
        redoc_url=None,
        openapi_url=None,
    )
    app.openapi_version = "3.0.3"  # the newest that the packaged Swagger page can show
    protocol = Protocol(store, settings, clock, connect_with(settings))
    guard = Depends(_password_check(settings))
    app.include_router(_health())
    app.include_router(_ml_protocol(protocol), dependencies=[guard])
    app.include_router(_admin_api(settings, store, clock), dependencies=[guard])
    app.include_router(_pages(app, settings, store, clock), dependencies=[guard])
    app.mount("/swagger", StaticFiles(directory=swagger_ui_bundle.swagger_ui_path))
    app.add_exception_handler(UHerdingError, _explain)
    app.add_exception_handler(RequestValidationError, _explain_body)
    for fault in (UnicodeError, OverflowError):  # text or numbers that no database can hold
        app.add_exception_handler(fault, _explain_value)
    return app


def _health() -> APIRouter:
    router = APIRouter(tags=["Label Studio"])

    @router.get("/health")
    def health() -> dict[str, str]:
        """Whether the server is up; needs no password."""
        return {"status": "UP", "model_class": "UHerdingBackend"}

    return router


def _ml_protocol(protocol: Protocol) -> APIRouter:
    router = APIRouter(tags=["Label Studio"])

    @router.post("/setup")
    def setup(body: SetupRequest, request: Request) -> dict[str, str]:
        """Connect a project; refuses label configs that cannot be ranked for."""
        asked = body.model_dump(by_alias=True)
        return {"model_version": protocol.setup(asked, str(request.base_url))}

    @router.post("/predict")
    def predict(body: PredictRequest) -> dict[str, Any]:
        """Class, calibrated probability and queue score of each task."""
        return protocol.predict(body.project, body.tasks)

    @router.post("/webhook", status_code=201)
    def webhook(payload: dict[str, Any]) -> dict[str, str]:
        """Write down what happened in a project; a round follows when one is due."""
        return {"status": protocol.webhook(payload)}

    @router.post("/train", status_code=201)
    def train(payload: dict[str, Any]) -> dict[str, str]:
        """What Label Studio before 1.4 called instead of the webhook."""
        project = payload.get("project")
        return {
            "status": protocol.webhook({"action": "START_TRAINING", "project": {"id": project}})
        }

    @router.get("/versions")
    def versions(project: str = "") -> dict[str, list[str]]:
        """The model versions that are published."""
        return {"versions": protocol.versions(project)}

    @router.post("/validate")
    @router.post("/job_status")
    @router.post("/delete")
    @router.post("/duplicate_model")
    def others() -> dict[str, str]:
        """Calls that Label Studio may make and that need nothing done here."""
        return {"status": "ok"}

    return router


def _admin_api(settings: Settings, store: Store, clock: Callable[[], float]) -> APIRouter:
    router = APIRouter(prefix="/api/projects", tags=["Admin"])

    @router.get("")
    def projects() -> list[dict[str, Any]]:
        """Every connected project with its state."""
        return overview(store, settings)

    @router.get("/{project}")
    def one_project(project: int) -> dict[str, Any]:
        """One project with its rounds."""
        return project_status(store, settings, store.projects.get(ProjectId(project)))

    @router.get("/{project}/rounds")
    def rounds(project: int, limit: int = 50) -> list[dict[str, Any]]:
        """The project's rounds, newest first."""
        found = store.projects.get(ProjectId(project))
        return [round_status(round_) for round_ in store.rounds.latest(found.id, limit)]

    @router.post("/{project}/rounds", status_code=202)
    def request_round(project: int) -> dict[str, str]:
        """Ask for a round now; while one is waiting, asking again changes nothing."""
        found = store.projects.get_active(ProjectId(project))
        asked = store.rounds.request(found.id, "asked for through the API", clock())
        return {"status": "requested" if asked else "already waiting"}

    @router.get("/{project}/queue")
    def queue(project: int) -> dict[str, Any]:
        """The published queue, best task first."""
        found = store.projects.get(ProjectId(project))
        published = store.rounds.last_published(found.id)
        entries = store.rounds.queue(published.id) if published else []
        return {
            "version": published.version if published else "",
            "tasks": [
                {
                    "task": entry.task,
                    "rank": rank,
                    "gain": entry.gain,
                    "uncertainty": entry.uncertainty,
                    "predicted": entry.predicted,
                    "probability": entry.probability,
                }
                for rank, entry in enumerate(entries)
            ],
        }

    return router


def _pages(app: FastAPI, settings: Settings, store: Store, clock: Callable[[], float]) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/", response_class=HTMLResponse)
    def status() -> str:
        return status_page(overview(store, settings), clock())

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

    return router


def _password_check(settings: Settings) -> Any:  # noqa: ANN401 - a FastAPI dependency
    def check(given: Annotated[HTTPBasicCredentials | None, Depends(_BASIC)]) -> None:
        if not settings.has_password:
            return
        user = given.username if given else ""
        password = given.password if given else ""
        right = secrets.compare_digest(user.encode(), settings.basic_auth_user.encode())
        right &= secrets.compare_digest(password.encode(), settings.basic_auth_pass.encode())
        if not right:
            raise HTTPException(
                401,
                "Send BASIC_AUTH_USER and BASIC_AUTH_PASS as Basic authentication.",
                {"WWW-Authenticate": 'Basic realm="uherding-backend"'},
            )

    return check


def _explain(_: Request, error: Exception) -> JSONResponse:
    status = 400
    if isinstance(error, UnknownProjectError):
        status = 404
    if isinstance(error, LabelStudioError):
        status = 502
    log.warning("refused: %s", error)
    return JSONResponse({"detail": str(error)}, status)


def _explain_body(_: Request, error: Exception) -> JSONResponse:
    """What is wrong with a body, without repeating it: tokens may be in it."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    wrong = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in found]
    return JSONResponse({"detail": f"The request cannot be used: {'; '.join(wrong)}."}, 422)


def _explain_value(_: Request, error: Exception) -> JSONResponse:
    log.warning("refused: %s", error)
    return JSONResponse({"detail": "The request has text or a number that cannot be stored."}, 400)
