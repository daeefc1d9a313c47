"""The end of a round: its stored queue becomes the one that annotators get."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uherding_backend.errors import LabelStudioError
from uherding_backend.label_config import parse_label_config
from uherding_backend.options import Options
from uherding_backend.outcome import outcome_path
from uherding_backend.pool_map import PoolMap
from uherding_backend.publishing import Switch, Upload, plan, queue_predictions
from uherding_backend.round_work import RoundWork
from uherding_backend.store import Round, RoundState
from uherding_backend.training import CHECKPOINT, CurrentStep

log = logging.getLogger(__name__)

OUTCOMES_KEPT = 2  # the current one, and the one before it while a reader may still have it open


@dataclass(frozen=True, slots=True)
class QueueSwitch(RoundWork):
    """Publishes one round's queue; may be stopped at any point and done again."""

    def publish(self) -> None:
        """Upload the queue, check that all arrived, then switch: all at once for annotators."""
        with self.step("uploading"):
            stored = self.store.rounds.get(self.round.id) or self.round
            calls = self._calls(stored)
        if calls is None:
            self.store.rounds.renamed(stored.id, self.new_version())
            self.publish()
            return
        for call in calls:
            self._send(call)
        self._draw_map(stored)
        self._published(stored)

    def _draw_map(self, stored: Round) -> None:
        """After the switch: annotators do not wait for it."""
        with self.step("map"):
            step = CurrentStep(self.progress, "map")
            try:
                PoolMap(self.store, self.project.id, stored, step.progress).draw()
            except Exception:
                log.exception("project %d: round %d has no map", self.project.id, stored.id)

    def _calls(self, stored: Round) -> list[Upload | Switch] | None:
        queue = self.store.rounds.queue(stored.id)
        state = self.studio.project(self.project.id)
        schema = parse_label_config(state.label_config)
        options = Options.of(self.settings, self.project.options)
        predictions = queue_predictions(queue, schema, stored.version, prelabel=options.prelabel)
        uploaded = self.studio.prediction_counts(self.project.id).get(stored.version, 0)
        return plan(predictions, stored.version, uploaded=uploaded, shown=state.model_version)

    def _send(self, call: Upload | Switch) -> None:
        if isinstance(call, Switch):
            with self.step("switching"):
                self._switch(call.version)
        else:
            with self.step("uploading"):
                self._upload(call.predictions)

    def _upload(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        created = self.studio.upload_predictions(self.project.id, predictions)
        if created != len(predictions):
            raise LabelStudioError(
                f"Label Studio kept {created} of {len(predictions)} predictions, so the queue "
                "was not switched. Tasks may have been deleted meanwhile; the round is tried again."
            )

    def _switch(self, version: str) -> None:
        self.studio.update_project(self.project.id, {"model_version": version})
        shown = self.studio.project(self.project.id).model_version
        if shown != version:
            raise LabelStudioError(
                f"Label Studio was told to show {version} but shows {shown!r}. Check who else "
                "changes the project's model version."
            )

    def _published(self, stored: Round) -> None:
        report = self.stopwatch.added_to(stored.report)
        self.store.rounds.published(stored.id, report, self.clock())
        self._forget_old_files()
        log.info(
            "project %d: round %d published %d tasks (%s) in %.1f s",
            self.project.id,
            stored.id,
            report.get("queue", 0),
            stored.reason,
            sum(report["seconds"].values()),
        )

    def _forget_old_files(self) -> None:
        published = [
            round_.id
            for round_ in self.store.rounds.latest(self.project.id)
            if round_.state is RoundState.PUBLISHED
        ]
        keep = {outcome_path(self.store, self.project.id, id_) for id_ in published[:OUTCOMES_KEPT]}
        directory = self.store.project_dir(self.project.id)
        half_written = directory.glob("*.tmp")  # left behind by processes that were killed
        for path in {*directory.glob("round-*.npz"), *half_written, directory / CHECKPOINT} - keep:
            path.unlink(missing_ok=True)
