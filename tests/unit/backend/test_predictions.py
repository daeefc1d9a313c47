from __future__ import annotations

from tests.support.builders import LABEL_CONFIG
from uherding_backend.label_config import parse_label_config
from uherding_backend.predictions import LAST, choice_result, prediction, queue_score


def test_scores_lie_between_0_and_1_and_before_the_tasks_outside_the_queue() -> None:
    scores = [queue_score(rank, 4) for rank in range(4)]

    assert scores == [0.2, 0.4, 0.6, 0.8]
    assert scores[-1] < LAST <= 1.0


def test_a_result_names_the_tags_of_the_label_config() -> None:
    (region,) = choice_result(parse_label_config(LABEL_CONFIG), "disc", 0.98765)

    assert region["from_name"] == "kind"
    assert region["to_name"] == "image"
    assert region["value"] == {"choices": ["disc"]}
    assert region["score"] == 0.9877


def test_a_prediction_is_what_label_studio_expects() -> None:
    assert prediction([], 0.5, "v") == {"result": [], "score": 0.5, "model_version": "v"}
