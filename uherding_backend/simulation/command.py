"""`uherding simulate` from the data to the report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from model.names import STRATEGY_NAMES
from uherding_backend.console import Console
from uherding_backend.simulation import pictures
from uherding_backend.simulation.arguments import Options
from uherding_backend.simulation.data import Dataset, load_dataset
from uherding_backend.simulation.plan import Plan
from uherding_backend.simulation.report import report_page
from uherding_backend.simulation.results import Results, replace_file
from uherding_backend.simulation.running import missing_work, run
from uherding_backend.simulation.summary import headline, remark, summarise
from uherding_backend.simulation.table import short_table
from uherding_backend.simulation.words import duration, percent

Clock = Callable[[], float]


def simulate(options: Options, console: Console, clock: Clock, *, simclr_epochs: int) -> None:
    """Run what is missing, then compare.

    Args:
        options: As given.
        console: Hears of everything.
        clock: Seconds from any moment on.
        simclr_epochs: For images whose features are learned by `simclr`.
    """
    source = options.features or _features_of_images(options, console, simclr_epochs)
    dataset = load_dataset(source)
    plan = Plan.of(options, pool=len(dataset.data.labels))
    _say_what(console, dataset, plan)
    settings = {
        "data": dataset.digest,
        "pool_share": plan.pool_share,
        "classifier": plan.classifier,
    }
    results = Results.open(options.output, settings, plan.budgets)
    _run_missing(plan, source, results, console, clock)
    summary = summarise(plan, results.curves())
    report = options.output / "report.html"
    replace_file(report, report_page(summary, dataset, str(options.data)))
    said = [sentence for sentence in (headline(summary), remark(summary)) if sentence]
    for line in ["", *short_table(summary), "", *said, f"Report: {report}"]:
        console.say(line)


def list_strategies(console: Console) -> None:
    """Say the name of each, and a sentence."""
    for name, sentence in STRATEGY_NAMES.items():
        console.say(f"{name:24s} {sentence}")


def _features_of_images(options: Options, console: Console, simclr_epochs: int) -> Path:
    from uherding_backend.simulation.extracting import Extraction

    found = pictures.in_folders(options.images) if options.images else pictures.in_csv(options.data)
    parts = pictures.split(found, options.test_share)
    Plan.of(options, pool=len(parts.pool))  # mistakes now, not after an hour of features
    extraction = Extraction(parts, options.extractor, options.output, console, simclr_epochs)
    return extraction.file()


def _say_what(console: Console, dataset: Dataset, plan: Plan) -> None:
    data = dataset.data
    console.say(
        f"{len(data.labels):,} images to choose from, {len(data.test_labels):,} to judge by, "
        f"{len(dataset.classes)} classes; up to {plan.budgets[-1]:,} labels."
    )
    if plan.beyond:
        console.say(
            f"Warning: budgets of {plan.beyond[0]:,} labels and more are left out; each seed draws "
            f"only {percent(plan.pool_share)} of the pool."
        )
    if dataset.unseen:
        console.say(
            f"Warning: no image of the pool has the class {', '.join(dataset.unseen)}; test images "
            "of it are always judged wrong."
        )


def _run_missing(
    plan: Plan, source: Path, results: Results, console: Console, clock: Clock
) -> None:
    work = missing_work(plan, results.curves())
    total = plan.seeds * len(plan.strategies)
    missing = sum(len(each.strategies) for each in work)
    done = total - missing
    if done:
        console.say(f"{done} of {total} curves are there already.")
    if not work:
        return
    started = clock()
    console.renew("Simulating", done / total, f" {done} of {total} curves")
    with closing(run(plan, source, work)) as curves:
        for computed, curve in enumerate(curves, start=1):
            results.append(curve)
            left = (clock() - started) / computed * (missing - computed)
            detail = f" {done + computed} of {total} curves, {duration(left)} left"
            console.renew("Simulating", (done + computed) / total, detail)
