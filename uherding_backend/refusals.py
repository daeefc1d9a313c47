"""What a request that cannot be answered gets: a sentence, as JSON or as a page for people."""

import logging
from collections.abc import Mapping

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from uherding_backend.dashboard import render
from uherding_backend.errors import LabelStudioError, UHerdingError, UnknownProjectError

log = logging.getLogger(__name__)

FOR_PROGRAMS = ("api", "health", "versions", "static", "swagger", "openapi.json")
CANNOT_BE_STORED = "The request has text or a number that cannot be stored."


def explain_refusals(app: FastAPI) -> None:
    """Let every refusal of the application say what was wrong."""
    app.add_exception_handler(StarletteHTTPException, _explain_status)
    app.add_exception_handler(UHerdingError, _explain)
    app.add_exception_handler(RequestValidationError, _explain_body)
    for fault in (UnicodeError, OverflowError):  # text or numbers that no database can hold
        app.add_exception_handler(fault, _explain_value)


def _explain_status(request: Request, error: Exception) -> Response:
    refused = error if isinstance(error, StarletteHTTPException) else HTTPException(500)
    return _answer(request, refused.detail, refused.status_code, refused.headers)


def _explain(request: Request, error: Exception) -> Response:
    status = 400
    if isinstance(error, UnknownProjectError):
        status = 404
    if isinstance(error, LabelStudioError):
        status = 502
    log.warning("refused: %s", error)
    return _answer(request, str(error), status)


def _explain_body(request: Request, error: Exception) -> Response:
    """What is wrong with a body, without repeating it: tokens may be in it."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    wrong = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in found]
    return _answer(request, f"The request cannot be used: {'; '.join(wrong)}.", 422)


def _explain_value(request: Request, error: Exception) -> Response:
    log.warning("refused: %s", error)
    return _answer(request, CANNOT_BE_STORED, 400)


def _answer(
    request: Request, detail: str, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    if not _is_for_people(request):
        return JSONResponse({"detail": detail}, status, headers)
    page = render("refused.html", 0.0, base=_base(request), status=status, detail=detail)
    return HTMLResponse(page, status, {**(headers or {}), "Cache-Control": "no-store"})


def _base(request: Request) -> str:
    """The path under which the backend lives; mounted parts of it have a longer root_path."""
    scope = request.scope
    return str(scope.get("app_root_path", scope.get("root_path", "")))


def _is_for_people(request: Request) -> bool:
    """Whether a browser asked for a page."""
    path = request.scope["path"].removeprefix(_base(request))
    first = path.strip("/").split("/")[0]
    wants_page = "text/html" in request.headers.get("accept", "")
    return request.method == "GET" and wants_page and first not in FOR_PROGRAMS
