"""HTTP: Label Studio's ML protocol, the admin API and the dashboard. Never trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import swagger_ui_bundle
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from uherding_backend.access import changer_check, reader_check, same_site_check
from uherding_backend.api import reading_api
from uherding_backend.changing import Changes, changing_api
from uherding_backend.labelstudio import connect_with
from uherding_backend.pages import pages, static_files
from uherding_backend.protocol import Protocol
from uherding_backend.refusals import explain_refusals
from uherding_backend.settings import Settings
from uherding_backend.store import Store


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
    guards = [Depends(reader_check(settings)), Depends(same_site_check)]
    changes = changing_api(Changes(settings, store, clock), changer_check(settings))
    app.include_router(_health())
    app.include_router(static_files())
    app.include_router(_ml_protocol(protocol), dependencies=guards)
    app.include_router(reading_api(settings, store, clock), dependencies=guards)
    app.include_router(changes, dependencies=guards)
    app.include_router(pages(app, settings, store, clock), dependencies=guards)
    app.mount("/swagger", StaticFiles(directory=swagger_ui_bundle.swagger_ui_path))
    explain_refusals(app)
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
