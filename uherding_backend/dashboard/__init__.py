"""Pages built from what rounds stored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True)


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


_TEMPLATES.filters["percent"] = _percent


def status_page(projects: list[dict[str, Any]], now: float) -> str:
    """The page at /: projects, rounds, what runs, what failed and what to do."""
    return _TEMPLATES.get_template("status.html").render(
        projects=projects,
        ago=lambda moment: _ago(moment, now),
        clock=datetime.fromtimestamp(now, UTC).strftime("%H:%M:%S UTC"),
    )
