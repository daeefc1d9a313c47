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
THIS_MACHINE = "somebody on this machine"  # without a password nobody else is answered
LOCKED = (
    "Changing settings needs a password: set BASIC_AUTH_USER and BASIC_AUTH_PASS and start the "
    "backend again. Label Studio must then send them too: run `uherding connect` once more."
)

Given = Annotated[HTTPBasicCredentials | None, Depends(_BASIC)]
Caller = Callable[..., str]


def password_check(settings: Settings) -> Caller:
    """A dependency that refuses wrong passwords and returns the caller's name."""

    def check(given: Given) -> str:
        if not settings.has_password:
            return THIS_MACHINE
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

    return check


def changer_check(settings: Settings) -> Caller:
    """The same for changes of settings, which are refused where there is no password."""
    check = password_check(settings)

    def changer(given: Given) -> str:
        if not settings.has_password:
            raise HTTPException(403, LOCKED)
        return check(given)

    return changer


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
