"""A real browser for the end-to-end tests: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.live import PASSWORD, USER, LiveLabelStudio

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser that is installed on this machine; Playwright's own is not downloaded."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program, "There is no Chromium here. `make browser` installs Debian's."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


def sign_in(page: Page, studio: LiveLabelStudio) -> None:
    """Log in to Label Studio, as a person does."""
    page.goto(f"{studio.url}/user/login/")
    page.fill("input[name=email]", USER)
    page.fill("input[name=password]", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "login" not in url)
