from __future__ import annotations

from dataclasses import dataclass

from tests.support.builders import Clock
from uherding_backend.stopwatch import Stopwatch


@dataclass
class Waiting:
    """Label Studio's answers, which take time."""

    clock: Clock
    seconds: float = 0.0

    def ask(self, seconds: float) -> None:
        self.clock.now += seconds
        self.seconds += seconds


def test_a_step_has_its_seconds_and_those_that_label_studio_took_of_them() -> None:
    clock = Clock()
    studio = Waiting(clock)
    watch = Stopwatch(lambda: studio.seconds, clock)

    with watch.step("labels"):
        studio.ask(2.0)
        clock.now += 1.0
    with watch.step("selection"):
        clock.now += 4.0

    assert watch.added_to({}) == {
        "seconds": {"labels": 3.0, "selection": 4.0},
        "label_studio_seconds": {"labels": 2.0},
    }


def test_a_step_that_comes_twice_is_added_up() -> None:
    clock = Clock()
    studio = Waiting(clock)
    watch = Stopwatch(lambda: studio.seconds, clock)

    for _ in range(2):
        with watch.step("uploading"):
            studio.ask(1.5)

    assert watch.seconds == watch.label_studio_seconds == {"uploading": 3.0}


def test_what_was_measured_before_an_interruption_stays_in_the_report() -> None:
    clock = Clock()
    watch = Stopwatch(lambda: 0.0, clock)
    with watch.step("uploading"):
        clock.now += 0.12345

    report = watch.added_to(
        {"pool": 9, "seconds": {"labels": 1.0, "uploading": 7.0}, "label_studio_seconds": {"a": 2}}
    )

    assert report == {
        "pool": 9,
        "seconds": {"labels": 1.0, "uploading": 0.123},
        "label_studio_seconds": {"a": 2},
    }
