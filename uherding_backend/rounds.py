"""The story of one round: labels in, a published queue out. Start reading here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from model.arrays import UNLABELED, Images, Rows
from model.arrays import Labels as RowLabels
from model.classifiers import trainer
from model.duplicates import NOT_A_COPY
from model.names import BY_COVERAGE, FINETUNE, READS_GRAPH
from model.neighbours import NeighbourGraph
from model.networks import checked_start
from model.pipeline import Ranking, rank_pool
from model.strategies import STRATEGIES, Strategy
from uherding_backend.auditing import drawn_share, next_drawn, set_apart
from uherding_backend.first_choice import FirstChoice
from uherding_backend.image_loading import ImageLoader
from uherding_backend.images_source import ImageSource
from uherding_backend.insights import Material, insights
from uherding_backend.label_config import LabelSchema, parse_label_config
from uherding_backend.labels import Labels, TaskId, resolve
from uherding_backend.labelstudio import ProjectState
from uherding_backend.options import Options
from uherding_backend.outcome import outcome_path, save_outcome
from uherding_backend.pool_features import Pool, PoolFeatures
from uherding_backend.pool_graph import PoolGraph, graph_pays
from uherding_backend.pool_images import pool_images
from uherding_backend.pool_tasks import tasks_are_known
from uherding_backend.queue_switch import QueueSwitch
from uherding_backend.reports import queue_entries, round_report
from uherding_backend.store.pool import Listing
from uherding_backend.store.project_records import Sighting
from uherding_backend.training import CurrentStep, training


@dataclass(frozen=True, slots=True)
class Given:
    """What a round was given to rank.

    Attributes:
        apart: The audit slice: tasks that are not trained on.
    """

    schema: LabelSchema
    options: Options
    labels: Labels
    pool: Pool
    apart: frozenset[TaskId] = frozenset()

    def trained_on(self) -> RowLabels:
        """A class id for each row of the pool, UNLABELED where there is none to train on."""
        row_labels = np.full(len(self.pool.tasks), UNLABELED, dtype=np.int64)
        number = {name: at for at, name in enumerate(self.schema.classes)}
        for row, task in enumerate(self.pool.tasks):
            if task in self.labels.classes and task not in self.apart:
                row_labels[row] = number[self.labels.classes[task]]
        return row_labels


@dataclass(frozen=True, slots=True)
class RoundRunner(QueueSwitch):
    """Runs one round of one project; may be stopped at any point and run again."""

    def run(self) -> None:
        """Compute the queue, unless an interrupted run already did, and publish it."""
        if not self.round.version:
            self.rank()
        self.publish()  # of queue_switch.py

    def rank(self) -> None:
        """Everything up to the stored queue; nothing of it is visible to annotators."""
        state = self.read_project()
        schema = parse_label_config(state.label_config)
        options = Options.of(self.settings, self.project.options)
        labels = self.read_labels(schema)
        self.read_tasks(schema, state.task_count)
        pool = self.read_pool(options)
        given = self.set_apart(Given(schema, options, labels, pool))
        images = self.read_images(pool, labels, options)
        ranking = self.rank_pool(given, images)
        self.keep(given, ranking)

    def read_project(self) -> ProjectState:
        """The project as it is in Label Studio now."""
        with self.step("labels"):
            self.store.projects.changes_taken_in(self.project.id)
            state = self.studio.project(self.project.id)
            seen = Sighting(state.title, state.label_config, state.sampling)
            self.store.projects.looked(self.project.id, self.clock(), seen)
        return state

    def read_labels(self, schema: LabelSchema) -> Labels:
        """The labels by the export, which is the truth; webhooks were only hints."""
        with self.step("labels"):
            annotations = self.studio.annotations(self.project.id, schema.control)
            self.store.pool.replace_annotations(self.project.id, annotations)
            return resolve(annotations, schema.classes)

    def read_tasks(self, schema: LabelSchema, count: int) -> None:
        """Take over Label Studio's tasks, unless nothing tells that they changed."""
        project, key, now = self.project.id, schema.data_key, self.clock()
        if tasks_are_known(self.store, project, key, count, now):
            return
        with self.step("tasks"):
            doubts = self.store.projects.get(project).task_doubts
            images = self.studio.images(project, key)
            self.store.pool.replace_items(project, images, Listing(key, now, doubts))

    def read_pool(self, options: Options) -> Pool:
        """The tasks' features; only what is new is computed."""
        with self.step("features"):
            return PoolFeatures(
                self.store,
                self.project.id,
                options,
                self._source(),
                self.progress,
                seed=self.round.id,
            ).pool()

    def read_images(self, pool: Pool, labels: Labels, options: Options) -> Images | None:
        """The pool's pixels, if something is to be trained on them."""
        if options.classifier != FINETUNE:
            return None
        start = checked_start(options.finetune_from)
        if not labels.classes:
            return None
        with self.step("images"):
            loader = ImageLoader(self.store, self.project.id, self._source())
            return pool_images(
                loader, pool.tasks, start, lambda done: self.progress("images", done)
            )

    def set_apart(self, given: Given) -> Given:
        """Draw the audit slice: nothing is trained on it, and the strategy does not choose it."""
        apart = set_apart(
            self.project.uid,
            given.pool.tasks,
            given.labels.classes.keys(),
            self.store.pool.audit_tasks(self.project.id),
            given.options.audit_fraction,
        )
        self.store.pool.replace_audit_tasks(self.project.id, apart)
        return replace(given, apart=apart)

    def rank_pool(self, given: Given, images: Images | None) -> Ranking:
        """Train, calibrate and choose: the machine learning, which knows only rows."""
        pool, options = given.pool, given.options
        row_labels = given.trained_on()
        candidates = np.array(
            [t not in given.labels.set_aside and t not in given.apart for t in pool.tasks],
            dtype=np.bool_,
        )
        if options.skip_duplicates:
            candidates &= pool.copies == NOT_A_COPY
        step = CurrentStep(self.progress)
        how = training(options, self.store.project_dir(self.project.id), step.progress)
        ranking = rank_pool(
            pool.features,
            row_labels,
            class_count=len(given.schema.classes),
            count=options.queue_size - drawn_share(options.queue_size, options.audit_fraction),
            candidates=candidates,
            strategy=self._strategy(options.strategy),
            inputs=images,
            fit=how.fit,
            adaptation=how.adaptation,
            seed=self.round.id,
            graph=self._graph(given, np.flatnonzero(row_labels != UNLABELED)),
            on_step=step.begin,
            on_progress=step.progress,
        )
        self.stopwatch.seconds.update(ranking.seconds)
        return ranking

    def _strategy(self, name: str) -> Strategy:
        if name not in BY_COVERAGE:
            return STRATEGIES[name]
        return FirstChoice(self.store.project_dir(self.project.id), name)

    def _graph(self, given: Given, labeled: Rows) -> NeighbourGraph | None:
        pays = graph_pays(len(given.pool.features), len(labeled))
        if given.options.strategy not in READS_GRAPH or not pays:
            return None
        with self.step("neighbours"):
            directory = self.store.project_dir(self.project.id)
            progress = partial(self.progress, "neighbours")
            return PoolGraph(directory, given.pool.features, progress).for_labels(labeled)

    def keep(self, given: Given, ranking: Ranking) -> None:
        """Store the outcome, so that a restart goes on from here."""
        classes = given.schema.classes
        with self.step("insights"):
            found = self._insights(given, ranking)
            drawn = next_drawn(self.project.uid, given.apart, given.labels)
            room = given.options.queue_size - len(ranking.selection.rows)
            labeled = np.flatnonzero(given.trained_on() != UNLABELED)
            queue = queue_entries(given.pool, classes, ranking, drawn[:room], labeled)
        with self.step("storing"):
            path = outcome_path(self.store, self.project.id, self.round.id)
            save_outcome(path, given.pool.tasks, classes, ranking)
            report = round_report(
                given.pool,
                given.labels,
                given.options,
                ranking,
                queued=len(queue),
                apart=given.apart,
            )
            self.store.rounds.ranked(
                self.round.id,
                version=self.new_version(),
                queue=queue,
                labels=given.labels.classes,
                report=self.stopwatch.added_to(report),
                insights=found,
            )

    def _insights(self, given: Given, ranking: Ranking) -> dict[str, Any]:
        material = Material(
            pool=given.pool,
            classes=given.schema.classes,
            labels=given.labels,
            annotations=self.store.pool.annotations(self.project.id),
            apart=given.apart,
            ranking=ranking,
            trained_on=given.trained_on(),
        )
        earlier = [one.measured for one in self.store.rounds.history(self.project.id)]
        quick = given.options.classifier != FINETUNE
        return insights(
            material,
            self.studio.people(),
            earlier,
            fit=trainer(given.options.classifier) if quick else None,
            seed=self.round.id,
        )

    def _source(self) -> ImageSource:
        return ImageSource(self.studio, self.settings.local_files_root)
