"""The dashboard in a real browser, beside a real Label Studio."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    HttpCredentials,
    Locator,
    Page,
    Route,
    expect,
)

from tests.support.browser import chromium, sign_in
from tests.support.live import IMAGES, LiveBackend, LiveLabelStudio, LiveProject, make_backend
from tests.support.live import make_project as new_project

LOGIN = HttpCredentials(username="boss", password="a good secret")
ROUND_SIZE = 4
SECONDS = 45_000.0  # milliseconds that a round may take on a busy machine

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of the browser's pipes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def backend(
    real_label_studio: LiveLabelStudio, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveBackend]:
    """A backend with a password, so that things can be changed."""
    environment = {
        "BASIC_AUTH_USER": LOGIN["username"],
        "BASIC_AUTH_PASS": LOGIN["password"],
        "UHERDING_AUDIT_FRACTION": "0.2",
    }
    running = make_backend(real_label_studio, tmp_path_factory.mktemp("dash"), environment)
    running.start()
    yield running
    running.process.stop()


@pytest.fixture(scope="module")
def project(real_label_studio: LiveLabelStudio, backend: LiveBackend) -> LiveProject:
    """A project with two published rounds and 16 labels."""
    made = new_project(real_label_studio, backend, images=100)
    made.connect(round_size=16)
    first = made.published()
    made.label(16)
    made.published(after=first["id"])
    return made


Open = Callable[..., BrowserContext]


@pytest.fixture
def window(browser: Browser) -> Iterator[Open]:
    """Opens browser windows and closes them."""
    opened: list[BrowserContext] = []

    def make(width: int = 1280, height: int = 800, theme: str = "light") -> BrowserContext:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            http_credentials=LOGIN,
            color_scheme="dark" if theme == "dark" else "light",
        )
        context.set_default_timeout(SECONDS)
        opened.append(context)
        return context

    yield make
    for context in opened:
        context.close()


@pytest.fixture
def page(window: Open) -> Page:
    return window().new_page()


def address(project: LiveProject, path: str = "") -> str:
    return f"{project.backend.url}/projects/{project.id}{path}"


def settled(project: LiveProject) -> int:
    """Wait until no round is under way; returns the one that is published."""

    def found() -> int | None:
        status = project.status()
        if status["state"] not in ("queue is up", "paused"):
            return None
        return int(status["published"]["id"])

    return project.wait(found, "settled project")


def test_a_wrong_password_is_refused(browser: Browser, project: LiveProject) -> None:
    wrong = HttpCredentials(username=LOGIN["username"], password="wrong")
    context = browser.new_context(http_credentials=wrong)

    answers = [context.new_page().goto(url) for url in (project.backend.url, address(project))]

    assert [answer.status for answer in answers if answer] == [401, 401]
    context.close()


def test_labels_clicked_in_label_studio_make_a_round_appear(
    page: Page, project: LiveProject
) -> None:
    before = settled(project)
    project.backend.call("PATCH", f"/api/projects/{project.id}/settings", {"round_size": 4})
    page.goto(project.backend.url)
    expect(page.locator(".figures").first).to_contain_text("current round")
    studio = page.context.new_page()
    sign_in(studio, project.studio)
    studio.goto(f"{project.studio.url}/projects/{project.id}/data")
    press = studio.get_by_role("button", name="Label All Tasks")
    served = []

    for _ in range(ROUND_SIZE):
        task = _served_by(studio, press)
        answer = IMAGES.true_class(task["data"]["image"])
        studio.get_by_text(re.compile(rf"^{answer}\W*\d?\W*$")).first.click()  # with its hotkey
        press = studio.get_by_test_id("bottombar-submit-button")
        served.append(task["id"])
    _served_by(studio, press)

    published = project.published(after=before)["id"]
    expect(page.locator(".figures b").nth(2)).to_have_text(str(published), timeout=SECONDS)
    expect(page.locator(".figures b").first).to_have_text(str(project.status()["labels"]))
    assert set(served) <= set(project.annotator.exported())


def _served_by(studio: Page, button: Locator) -> dict[str, Any]:
    """Press a button that makes Label Studio serve the next task; returns the task."""
    with studio.expect_response(lambda answer: "id=next_task" in answer.url) as answer:
        button.click()
    task: dict[str, Any] = answer.value.json()
    studio.get_by_test_id("bottombar-submit-button").wait_for()
    return task


def test_a_round_is_started_by_the_button_and_watched(page: Page, project: LiveProject) -> None:
    before = settled(project)
    page.goto(address(project, "/settings"))

    page.get_by_role("button", name="Start a round now").click()
    expect(page.get_by_role("dialog")).to_contain_text("Start a round now?")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Confirm").click()

    expect(page.locator("#actions")).to_contain_text("Ada (boss)")
    expect(page.locator("#actions")).to_contain_text("asked for a round")
    expect(page.locator("#renewed")).to_be_visible(timeout=SECONDS)
    newest = project.published(after=before)
    assert newest["reason"] == "asked for by Ada"
    page.get_by_role("link", name="Show it").click()
    page.get_by_role("link", name="Rounds").click()
    expect(page.locator("table")).to_contain_text("asked for by Ada")


def test_cancelling_changes_nothing(page: Page, project: LiveProject) -> None:
    before = settled(project)
    page.goto(address(project, "/settings"))

    page.get_by_role("button", name="Pause automatic rounds").click()
    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_role("dialog")).to_be_hidden()
    assert not project.status()["paused"]
    assert settled(project) == before


def test_a_setting_is_changed_paused_and_taken_back(page: Page, project: LiveProject) -> None:
    settled(project)
    page.goto(address(project, "/settings"))

    page.get_by_label("Round size").fill("33")
    page.locator("form[data-setting=round_size]").get_by_role("button", name="Change").click()
    expect(page.locator("#confirm-text")).to_contain_text(
        "Change Round size to 33? The next queue has three times as many tasks."
    )
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#actions")).to_contain_text("to 33")
    changed = project.status()["round_size"]
    page.locator("form[data-setting=round_size]").get_by_role("button", name="Take back").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#actions")).to_contain_text("from 33 to 16")
    page.get_by_role("button", name="Pause automatic rounds").click()
    page.get_by_role("button", name="Confirm").click()
    resume = page.get_by_role("button", name="Resume automatic rounds")
    expect(resume).to_be_visible()
    paused = project.status()["paused"]
    resume.click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#actions")).to_contain_text("resumed automatic rounds")

    assert (changed, paused) == (33, True)
    assert (project.status()["round_size"], project.status()["paused"]) == (16, False)


def test_a_value_that_cannot_be_used_is_explained_in_the_dialog(
    page: Page, project: LiveProject
) -> None:
    page.goto(address(project, "/settings"))
    form = page.locator("form[data-setting=audit_fraction]")
    form.evaluate("form => { form.noValidate = true }")

    page.get_by_label("Audit fraction").fill("0.9")
    form.get_by_role("button", name="Change").click()
    page.get_by_role("button", name="Confirm").click()

    expect(page.locator("#confirm-error")).to_contain_text(
        "Audit fraction must be a number from 0 to 0.5"
    )


def test_a_queue_item_leads_to_its_task_in_label_studio(page: Page, project: LiveProject) -> None:
    settled(project)
    sign_in(page, project.studio)
    page.goto(address(project, "/queue"))
    first = project.backend.call("GET", f"/api/projects/{project.id}/queue")["tasks"][0]
    row = page.locator("#queue tr").nth(1)
    expect(row).to_contain_text(first["why"])
    thumbnail = row.locator("img")
    thumbnail.scroll_into_view_if_needed()
    page.wait_for_function("image => image.complete", arg=thumbnail.element_handle())
    assert thumbnail.evaluate("image => image.naturalWidth") > 0

    row.get_by_role("link", name=str(first["task"]), exact=True).click()

    page.wait_for_url(re.compile(rf"/projects/{project.id}/data.*task={first['task']}"))
    page.get_by_test_id("bottombar-submit-button").wait_for()


def test_the_map_shows_an_image_on_hover_and_opens_its_task_on_click(
    page: Page, project: LiveProject
) -> None:
    settled(project)
    sign_in(page, project.studio)
    page.goto(address(project, "/map"))
    page.wait_for_selector("#map[data-ready]")
    expect(page.locator("#count")).to_contain_text("100 of 100 images")
    box = page.locator("#map canvas").bounding_box()
    assert box
    x, y = page.evaluate("toScreen(queue[0])")
    task = page.evaluate("data.task[queue[0]]")

    page.mouse.move(box["x"] + x, box["y"] + y)

    hover = page.locator(".hover")
    expect(hover).to_contain_text(f"task {task}")
    expect(hover).to_contain_text("rank 1 in the queue")
    page.wait_for_function("document.querySelector('.hover img').naturalWidth > 0")
    with page.context.expect_page() as opened:
        page.mouse.click(box["x"] + x, box["y"] + y)
    opened.value.wait_for_url(re.compile(rf"/projects/{project.id}/data.*task={task}"))


def test_the_map_can_be_used_with_the_keyboard(page: Page, project: LiveProject) -> None:
    page.goto(address(project, "/map"))
    page.wait_for_selector("#map[data-ready]")
    page.locator("#map canvas").focus()

    page.keyboard.press("n")
    page.keyboard.press("n")

    expect(page.locator(".hover")).to_contain_text("rank 2 in the queue")
    scale = page.evaluate("view.scale")
    page.keyboard.press("+")
    assert page.evaluate("view.scale") > scale
    page.get_by_label("Show").select_option("labelled")
    expect(page.locator("#count")).not_to_contain_text("100 of 100")


def test_charts_are_drawn(page: Page, project: LiveProject) -> None:
    page.goto(address(project))

    for chart in ("curve", "reliability", "adaptation", "coverage", "balance"):
        expect(page.locator(f"#{chart} .main-svg").first).to_be_visible()
    expect(page.locator("#measured")).to_contain_text("pessimistic")
    page.get_by_label("Show").select_option(index=1)
    expect(page.locator("#measured")).to_contain_text("were recognised")


def always(answer: dict[str, Any]) -> Callable[[Route], None]:
    return lambda route: route.fulfill(json=answer)


def test_a_chart_with_nothing_to_draw_says_so(page: Page, project: LiveProject) -> None:
    first = {"round": 1, "labels": 0, "temperature": 1.0, "radius": 0.5, "coverage": 0.0}
    empty: dict[str, list[Any]] = {"held_out": [], "ground_truth": [], "audit": []}
    unseen = {"name": "bars", "labels": 0, "expected_share": None, "recognised": None}
    answers: dict[str, dict[str, Any]] = {
        "curve": {"measures": {}, "accuracy": empty, "rounds": [first]},
        "curve/classes": {},
        "insights": {"reliability": {"before": [], "after": []}, "classes": [unseen]},
    }
    for name, answer in answers.items():
        page.route(f"**/api/projects/*/{name}", always(answer))

    page.goto(address(project))

    for chart in ("adaptation", "coverage", "balance"):
        expect(page.locator(f"#{chart}")).to_have_text("No labels yet.")
    for chart in ("curve", "reliability"):
        expect(page.locator(f"#{chart}")).to_contain_text("Not measured yet")
    page.get_by_label("Show").select_option(index=1)
    expect(page.locator("#curve")).to_contain_text("Not measured yet")
    expect(page.locator(".main-svg")).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_fits_its_window_and_has_no_errors(
    window: Open, project: LiveProject, width: int, theme: str
) -> None:
    page = window(width, theme=theme).new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: wrong.append(asked.url) if foreign(asked.url) else None)

    def foreign(url: str) -> bool:
        return not url.startswith((project.backend.url, "data:", "blob:"))

    for path in ("", "/stop", "/queue", "/map", "/rounds", "/rounds/1", "/settings"):
        page.goto(address(project, path), wait_until="networkidle")
        too_wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

        assert too_wide == 0, path
        assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (theme == "dark")
    assert wrong == []


def test_no_column_of_the_annotators_is_cut_off(window: Open, project: LiveProject) -> None:
    page = window(1280).new_page()
    page.goto(address(project))

    table = page.locator(".scroll", has=page.get_by_text("Per hour"))

    assert table.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_the_legend_stays_off_the_plot_on_a_phone(window: Open, project: LiveProject) -> None:
    page = window(390).new_page()
    page.goto(address(project))
    legend = page.locator("#adaptation .legend .bg")
    expect(legend).to_be_visible()

    bottom = legend.evaluate("box => box.getBoundingClientRect().bottom")
    top = page.locator("#adaptation .cartesianlayer .xy .gridlayer").evaluate(
        "box => box.getBoundingClientRect().top"
    )

    assert bottom <= top


def test_the_theme_can_be_changed_and_stays(page: Page, project: LiveProject) -> None:
    page.goto(address(project))

    page.get_by_role("button", name="Change between light and dark").press("Enter")
    page.goto(address(project, "/rounds"))

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_failure_is_explained_with_what_to_do(
    page: Page, project: LiveProject, real_label_studio: LiveLabelStudio
) -> None:
    settled(project)
    page.goto(project.backend.url)
    real_label_studio.process.stop()
    try:
        project.backend.call("POST", f"/api/projects/{project.id}/rounds")

        problem = page.locator(".problem")
        expect(problem).to_contain_text("did not answer", timeout=SECONDS)
        expect(problem).to_contain_text("Check that it runs")
        expect(page.locator(".tag.bad")).to_be_visible()
    finally:
        real_label_studio.start()
    settled(project)
    expect(page.locator(".tag.good")).to_be_visible(timeout=SECONDS)
    expect(page.locator(".problem")).to_have_count(0)
