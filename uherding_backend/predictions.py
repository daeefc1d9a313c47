"""Probabilities -> Label Studio's prediction JSON. Pure."""

from __future__ import annotations

from typing import Any

from uherding_backend.label_config import LabelSchema

LAST = 1.0  # the score of tasks outside the queue: Label Studio serves the lowest score first


def queue_score(rank: int, length: int) -> float:
    """Strictly between 0 and 1, growing with the rank, no two alike."""
    return (rank + 1) / (length + 1)


def choice_result(schema: LabelSchema, answer: str, probability: float) -> list[dict[str, Any]]:
    """A result that ticks ``answer``; the score is the calibrated probability that it is right."""
    return [
        {
            "from_name": schema.control,
            "to_name": schema.image,
            "type": "choices",
            "value": {"choices": [answer]},
            "score": round(probability, 4),
        }
    ]


def prediction(result: list[dict[str, Any]], score: float, version: str) -> dict[str, Any]:
    """One prediction as /predict answers it."""
    return {"result": result, "score": score, "model_version": version}
