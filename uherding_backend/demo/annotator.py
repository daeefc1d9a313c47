"""A scripted annotator: gets tasks by the call that the "Label All Tasks" button makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import requests

SECONDS = 60.0


@dataclass
class Annotator:
    """One user of Label Studio who labels what is served."""

    url: str
    token: str
    project: int
    submitted: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Token {self.token}"

    def next_task(self) -> dict[str, Any] | None:
        """The task that "Label All Tasks" opens; None if Label Studio has none left."""
        response = self._session.post(
            f"{self.url}/api/dm/actions?id=next_task&project={self.project}",
            json={"project": str(self.project)},
            timeout=SECONDS,
        )
        if response.status_code == 404:
            return None
        response.raise_for_status()
        task: dict[str, Any] = response.json()
        return task

    def submit(self, task: int, answer: str, seconds: float = 1.0) -> int:
        """Submit a class, as the form does; returns the annotation's id."""
        return self._annotate(task, {"result": _result(answer), "lead_time": seconds}, answer)

    def skip(self, task: int) -> int:
        """Press "Skip"."""
        return self._annotate(task, {"result": [], "was_cancelled": True}, "")

    def shown_version(self) -> str:
        """The model_version that decides what is served."""
        response = self._session.get(f"{self.url}/api/projects/{self.project}", timeout=SECONDS)
        response.raise_for_status()
        return str(response.json()["model_version"] or "")

    def exported(self) -> dict[int, list[str]]:
        """Every submitted class by task, as Label Studio exports it."""
        response = self._session.get(
            f"{self.url}/api/projects/{self.project}/export?exportType=JSON", timeout=SECONDS
        )
        response.raise_for_status()
        return {
            task["id"]: [
                region["value"]["choices"][0]
                for annotation in task["annotations"]
                if not annotation["was_cancelled"]
                for region in annotation["result"]
            ]
            for task in response.json()
        }

    def _annotate(self, task: int, body: dict[str, Any], answer: str) -> int:
        response = self._session.post(
            f"{self.url}/api/tasks/{task}/annotations/?project={self.project}",
            json=body,
            timeout=SECONDS,
        )
        response.raise_for_status()
        if answer:
            self.submitted[task] = answer
        return int(response.json()["id"])


def _result(answer: str) -> list[dict[str, Any]]:
    return [
        {
            "from_name": "label",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": [answer]},
        }
    ]
