"""The docs name everything that can be set, run or read, and their links lead somewhere."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from pathlib import Path

import pytest

from uherding_backend import cli, options, reports
from uherding_backend.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def settings_read() -> list[str]:
    source = inspect.getsource(Settings.from_environment)
    return sorted(set(re.findall(r'"([A-Z][A-Z_]+)"', source)))


def commands() -> list[str]:
    (choices,) = [
        action.choices
        for action in cli._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return sorted(choices)


def report_keys() -> list[str]:
    function = ast.parse(inspect.getsource(reports.round_report))
    (returned,) = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict)
    ]
    return [ast.literal_eval(key) for key in returned.keys if key is not None]


def links(page: str) -> list[str]:
    """Where a page's relative links point, without those to other sites."""
    found: list[str] = re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    return [link for link in found if "://" not in link and not link.startswith("mailto:")]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_something_is_read_from_the_environment() -> None:
    assert {"UHERDING_DATA_DIR", "LABEL_STUDIO_URL", "BASIC_AUTH_PASS"} <= set(settings_read())


@pytest.mark.parametrize("name", settings_read())
def test_settings_page_has_a_row_for_every_variable(name: str) -> None:
    assert f"\n| `{name}` |" in text_of("docs/settings.md")


@pytest.mark.parametrize("name", options.NAMES)
def test_settings_page_has_a_row_for_every_option(name: str) -> None:
    assert f"\n| `{name}` |" in text_of("docs/settings.md")


def test_settings_page_has_no_row_for_what_is_not_read() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", text_of("docs/settings.md"), re.MULTILINE)

    assert sorted(rows) == sorted([*settings_read(), *options.NAMES])


@pytest.mark.parametrize("name", commands())
def test_readme_has_every_command(name: str) -> None:
    assert f"uherding {name}" in text_of("README.md")


@pytest.mark.parametrize("key", [*report_keys(), "seconds", "label_studio_seconds"])
def test_rounds_page_has_a_row_for_every_key_of_the_report(key: str) -> None:
    assert f"\n| `{key}` |" in text_of("docs/rounds.md")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page

        assert target.exists(), f"{page} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page} links to {link}"
