"""Who may ask and who may change: the password, and pages of other sites kept out."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBasic, HTTPBasicCredentials

from uherding_backend.settings import Settings

_BASIC = HTTPBasic(auto_error=False)
READING = ("GET", "HEAD", "OPTIONS")
LOCKED = (
    "Changes need a password: set BASIC_AUTH_USER and BASIC_AUTH_PASS and start the backend again. "
    "Label Studio must then send them too: run `uherding connect` once more. `uherding round` asks "
    "for a round without."
)

Given = Annotated[HTTPBasicCredentials | None, Depends(_BASIC)]
Reader = Callable[[Given], None]
Changer = Callable[[Given], str]


def reader_check(settings: Settings) -> Reader:
    """A dependency that refuses wrong passwords; without one, only this machine is answered."""

    def reader(given: Given) -> None:
        if settings.has_password:
            _checked(settings, given)

    return reader


def changer_check(settings: Settings) -> Changer:
    """A dependency for changes, which need a password; returns who makes them."""

    def changer(given: Given) -> str:
        if not settings.has_password:
            raise HTTPException(403, LOCKED)
        return _checked(settings, given)

    return changer


def _checked(settings: Settings, given: HTTPBasicCredentials | None) -> str:
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
    return user


def same_site_check(request: Request) -> None:
    """Refuse what a page of another site makes a browser send, with the password it remembers.

    Browsers add the page's origin to every such request. Programs such as Label Studio add none.
    """
    if request.method in READING:
        return
    origin = request.headers.get("origin")
    hosts = {request.headers.get(name) for name in ("host", "x-forwarded-host")}
    if origin is not None and urlsplit(origin).netloc not in hosts:
        raise HTTPException(403, f"Requests from the pages of {origin} are not accepted.")
