"""Pages built from what rounds stored."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

STATIC = Path(__file__).parent / "static"

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(name: str, now: float, **context: Any) -> str:  # noqa: ANN401 - what the page needs
    """A page as HTML.

    Args:
        name: The template's file.
        now: Seconds since the epoch.
        **context: What the template shows; `base` is the path under which the backend lives.
    """
    return _TEMPLATES.get_template(name).render(ago=lambda moment: _ago(moment, now), **context)


def _ago(moment: float | None, now: float) -> str:
    """A time as people say it: "12 s ago"."""
    if moment is None:
        return ""
    seconds = max(0, round(now - moment))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def _percent(share: object) -> str:
    """A share of 1 as a percentage; "-" where it was not measured, or no round was yet."""
    return f"{100 * share:.1f} %" if isinstance(share, int | float) else "-"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _number(value: object, digits: int = 0) -> str:
    """A number with thousands apart; "-" where there is none."""
    return f"{value:,.{digits}f}" if isinstance(value, int | float) else "-"


def _clock(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _minutes(seconds: object) -> str:
    """A duration: "12 s", "3.5 min"."""
    if not isinstance(seconds, int | float):
        return "-"
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


def _code(text: object) -> Markup:
    """A sentence with what stands between backticks as code."""
    escaped = str(escape(text))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))  # noqa: S704 - escaped above


_TEMPLATES.filters |= {
    "code": _code,
    "percent": _percent,
    "points": _points,
    "number": _number,
    "clock": _clock,
    "minutes": _minutes,
}
