from __future__ import annotations

import pytest

from uherding_backend.console import WIDTH, Console


@pytest.fixture
def written() -> list[str]:
    return []


def test_not_on_a_terminal_a_renewed_line_is_written_when_its_text_changes(
    written: list[str],
) -> None:
    console = Console(written.append, terminal=False)

    console.renew("Round 1: features", 0.1)
    console.renew("Round 1: features", 0.9)
    console.renew("Round 1: publishing", 0.0)
    console.say("Done.")

    assert written == ["Round 1: features\n", "Round 1: publishing\n", "Done.\n"]


def test_on_a_terminal_the_line_is_overwritten_and_shows_how_far_it_is(
    written: list[str],
) -> None:
    console = Console(written.append, terminal=True)

    console.renew("features", 0.5, detail=" of 30")

    assert written[0].startswith("\rfeatures of 30 [############............]  50%")
    assert len(written[0]) == WIDTH + 1
    assert "\n" not in written[0]


def test_on_a_terminal_the_renewed_line_is_wiped_before_one_that_stays(
    written: list[str],
) -> None:
    console = Console(written.append, terminal=True)

    console.renew("features")
    console.say("Done.")
    console.say("Really.")

    assert written[1:] == ["\r" + " " * WIDTH + "\r", "Done.\n", "Really.\n"]


def test_a_long_line_is_cut_to_the_width(written: list[str]) -> None:
    Console(written.append, terminal=True).renew("x" * 500)

    assert len(written[0]) == WIDTH + 1
