"""The same behaviour as a label-studio-ml model class, for that package's own server.

`uherding serve` is the better way: label-studio-ml's server has no password and keeps one model
per process. Rounds are run by `uherding worker` beside it; see docs/label-studio-ml.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from label_studio_ml.model import LabelStudioMLBase

from uherding_backend.label_config import parse_label_config
from uherding_backend.protocol import Protocol


class UHerdingBackend(LabelStudioMLBase):  # type: ignore[misc]
    """Writes events down and predicts from what the worker published."""

    protocol: ClassVar[Protocol]  # given by the subclass in _wsgi.py

    def __init__(
        self,
        label_config: str | None = None,
        train_output: Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 - label-studio-ml's signature
    ) -> None:
        if label_config:
            parse_label_config(label_config)
        super().__init__(label_config=label_config, train_output=train_output, **kwargs)

    def predict(self, tasks: Sequence[Mapping[str, Any]], **_: Any) -> list[dict[str, Any]]:  # noqa: ANN401
        """Predictions for tasks of any connected project."""
        results: list[dict[str, Any]] = []
        for task in tasks:
            results += self.protocol.predict(str(task.get("project")), [task])["results"]
        return results

    def process_event(
        self,
        event: str,
        data: Mapping[str, Any],
        job_id: str,
        additional_params: Mapping[str, Any],
    ) -> dict[str, str]:
        """Write an event down; the project is connected by its first one."""
        project = data.get("project")
        if isinstance(project, Mapping) and project.get("label_config"):
            self._connect(project)
        return {"status": self.protocol.webhook({**data, "action": event})}

    def _connect(self, project: Mapping[str, Any]) -> None:
        """label-studio-ml does not tell the model which project /setup was for; events do."""
        created = datetime.fromisoformat(str(project["created_at"]))
        uid = f"{project['id']}.{int(created.timestamp())}"
        self.protocol.setup({"project": uid, "schema": project["label_config"]}, backend_url="")
