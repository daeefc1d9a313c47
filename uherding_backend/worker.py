"""The worker: compares what is stored with what should be, and runs one due round at a time."""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from model.errors import ModelError
from uherding_backend.due import due
from uherding_backend.errors import UHerdingError
from uherding_backend.label_config import parse_label_config
from uherding_backend.labels import ProjectId
from uherding_backend.labelstudio import Connect, LabelStudio, ProjectState
from uherding_backend.options import Options
from uherding_backend.preparing import preparation, prepare
from uherding_backend.publishing import stale_versions
from uherding_backend.settings import Settings
from uherding_backend.stopwatch import Stopwatch
from uherding_backend.store import Project, Round, RoundState, Store
from uherding_backend.store.project_records import Sighting

log = logging.getLogger(__name__)

NOTICE_SECONDS = 0.2  # how soon a label that makes a round due is noticed
STEP_SECONDS = 2.0  # a step at least this often: polls and retries become due by time alone
PAUSE_AFTER_ERROR_SECONDS = 10.0
IDLE_SECONDS = 20.0  # without a label for this long, deleting old queues disturbs nobody


@dataclass
class Worker:
    """One per data directory; ``step`` may be called by hand in tests."""

    store: Store
    settings: Settings
    clock: Callable[[], float]
    connect: Connect
    _pause_until: dict[ProjectId, float] = field(default_factory=dict)
    _tidied: dict[ProjectId, int] = field(default_factory=dict)
    _just_published: list[Project] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set; waits while another worker has the data directory."""
        with self._alone(stop):
            for round_ in self.store.rounds.recover():
                log.info("project %d: going on with round %d", round_.project, round_.id)
            while not stop.is_set():
                seen = self.store.database.version()
                if not self.step():
                    self._wait_for_change(seen, stop)

    def step(self) -> bool:
        """Attend to every project, then run one due round. False if there was none.

        Only then there is time to look ahead: no round waits for it.
        """
        for project in self.store.projects.all():
            if project.active and self.clock() >= self._pause_until.get(project.id, 0.0):
                self._attend(project)
        round_ = self.store.rounds.take(self.clock())
        if round_ is None:
            self._look_ahead()
            return False
        self._run_round(round_)
        return True

    def _wait_for_change(self, seen: int, stop: threading.Event) -> None:
        """Sleep until somebody writes to the store, or for the longest time between steps."""
        for _ in range(round(STEP_SECONDS / NOTICE_SECONDS)):
            if stop.wait(NOTICE_SECONDS) or self.store.database.version() != seen:
                return

    def _attend(self, project: Project) -> None:
        try:
            wanted = preparation(project, self.settings)
            if project.prepared != wanted:
                notes = prepare(self.connect(project), project, self.settings)
                self.store.projects.prepared(project.id, wanted, notes)
            if project.look or self.clock() >= project.looked_at + self.settings.poll_seconds:
                self._look(project, self.connect(project))
            self._request_if_due(self.store.projects.get(project.id))
            self._tidy(project)
            self.store.projects.trouble(project.id, "")
        except UHerdingError as error:
            self._complain(project, str(error))
        except Exception:
            log.exception("project %d: cannot attend to it", project.id)
            self._complain(project, "A fault of the backend; the worker's log has the details.")

    def _complain(self, project: Project, problem: str) -> None:
        if project.problem != problem:
            log.warning("project %d: %s", project.id, problem)
        self.store.projects.trouble(project.id, problem)
        self._pause_until[project.id] = self.clock() + PAUSE_AFTER_ERROR_SECONDS

    def _look(self, project: Project, studio: LabelStudio) -> None:
        """Notice what webhooks missed: lost labels, new tasks, another config, another version."""
        state = studio.project(project.id)
        if state.annotation_count != len(self.store.pool.annotations(project.id)):
            control = parse_label_config(state.label_config).control
            self.store.pool.replace_annotations(project.id, studio.annotations(project.id, control))
        published = self.store.rounds.last_published(project.id)
        other_tasks = (
            published is not None and state.task_count != self.store.counts.get(project.id).tasks
        )
        changed = other_tasks or state.label_config != project.label_config
        seen = Sighting(state.title, state.label_config, state.sampling, changed, other_tasks)
        self.store.projects.looked(project.id, self.clock(), seen)
        if published is not None:
            self._reassert(project, studio, state, published)

    def _reassert(
        self, project: Project, studio: LabelStudio, state: ProjectState, published: Round
    ) -> None:
        """Show our queue again if somebody switched it off: once, for they may mean it."""
        shown = state.model_version
        unfinished = self.store.rounds.latest(project.id, limit=1)[0].version
        if shown in (published.version, unfinished) or not published.report.get("queue"):
            return
        if project.reasserted == f"{published.version} over {shown}":
            return
        self.store.projects.reasserted(project.id, f"{published.version} over {shown}")
        log.warning(
            "project %d: model version was set to %r; showing the queue %r again. Set it once more "
            "to keep it until the next round",
            project.id,
            shown,
            published.version,
        )
        studio.update_project(project.id, {"model_version": published.version})

    def _request_if_due(self, project: Project) -> None:
        reason = due(self.store, project, Options.of(self.settings, project.options), self.clock())
        if reason is not None:
            self.store.rounds.request(project.id, reason, self.clock())

    def _tidy(self, project: Project) -> None:
        """While idle, delete queues that nobody sees any more; the last one before is kept."""
        rounds = self.store.rounds.latest(project.id)
        published = [r for r in rounds if r.state is RoundState.PUBLISHED and r.version]
        settled = rounds and rounds[0].state in (RoundState.PUBLISHED, RoundState.FAILED)
        if not published or not settled or self._tidied.get(project.id) == rounds[0].id:
            return
        if self.clock() < max(project.heard_at, rounds[0].finished_at or 0.0) + IDLE_SECONDS:
            return
        studio = self.connect(project)
        kept = {round_.version for round_ in published[:2]}
        kept.add(studio.project(project.id).model_version)
        for version in stale_versions(studio.prediction_counts(project.id), project.id, kept):
            studio.delete_version(project.id, version)
            log.info("project %d: deleted the old queue %s", project.id, version)
        self._tidied[project.id] = rounds[0].id

    def _run_round(self, round_: Round) -> None:
        try:
            project = self.store.projects.get(round_.project)
            log.info("project %d: round %d starts (%s)", project.id, round_.id, round_.reason)
            from uherding_backend.rounds import RoundRunner  # with torch, which takes seconds

            studio = self.connect(project)
            watch = Stopwatch(lambda: studio.waited_seconds)
            RoundRunner(self.store, self.settings, studio, project, round_, self.clock, watch).run()
            self._just_published.append(project)
        except (UHerdingError, ModelError) as error:
            log.warning("project %d: round %d failed: %s", round_.project, round_.id, error)
            self._failed(round_, str(error))
        except Exception as error:
            log.exception("project %d: round %d failed", round_.project, round_.id)
            advice = "This is a fault of the backend; the worker's log has the details."
            self._failed(round_, f"{type(error).__name__}: {error}. {advice}")

    def _look_ahead(self) -> None:
        """Prepare what the next round of a project will want to know."""
        if self._just_published:
            from uherding_backend.looking_ahead import look_ahead  # with torch, as the round had

            project = self._just_published.pop()
            options = Options.of(self.settings, project.options)
            look_ahead(self.store, project.id, options.round_size)

    def _failed(self, round_: Round, error: str) -> None:
        """Tasks that were deleted meanwhile may be the reason: the next round lists them anew."""
        self.store.projects.doubt_tasks(round_.project)
        self.store.rounds.failed(round_.id, error, self.clock())

    @contextmanager
    def _alone(self, stop: threading.Event) -> Iterator[None]:
        """Hold the data directory's lock; the system releases it when the process dies."""
        with (self.store.data_dir / "worker.lock").open("w") as file:
            warned = False
            while not stop.is_set():
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not warned:
                        log.warning("another worker uses %s; waiting for it", self.store.data_dir)
                    warned = True
                    stop.wait(NOTICE_SECONDS)
            yield
