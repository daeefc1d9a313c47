import threading
import time

import pytest
import torch

from model.threads import in_threads

PROCESSOR = torch.device("cpu")
PARTS = [slice(start, start + 1) for start in range(20)]


def test_all_parts_are_done_and_told_in_their_order() -> None:
    done = []

    def work(part: slice) -> None:
        time.sleep(0.002 * (part.start % 3))
        done.append(part.start)

    told = list(in_threads(work, PARTS, PROCESSOR))

    assert told == PARTS
    assert sorted(done) == list(range(20))


def test_a_thread_computes_alone_and_leaves_the_others_as_they_are() -> None:
    before, inside = torch.get_num_threads(), set()

    list(in_threads(lambda _: inside.add(torch.get_num_threads()), PARTS, PROCESSOR))

    assert inside == {1}
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("parts", "device"), [(PARTS, torch.device("meta")), (PARTS[:1], PROCESSOR)]
)
def test_on_another_device_or_for_one_part_no_thread_is_started(
    parts: list[slice], device: torch.device
) -> None:
    threads = set()

    list(in_threads(lambda _: threads.add(threading.get_ident()), parts, device))

    assert threads == {threading.get_ident()}


def test_what_fails_in_a_thread_fails_here_and_nothing_more_is_begun() -> None:
    begun = []

    def work(part: slice) -> None:
        begun.append(part)
        time.sleep(0.01)
        raise ValueError(f"part {part.start}")

    with pytest.raises(ValueError, match="part 0"):
        list(in_threads(work, PARTS, PROCESSOR))

    assert len(begun) < len(PARTS)
