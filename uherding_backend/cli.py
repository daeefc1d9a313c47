"""Commands; the only module that prints."""

from __future__ import annotations

import argparse
import json
import logging
import os
import pwd
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from model.errors import ModelError
from model.names import CLASSIFIERS
from uherding_backend.connecting import connect_project, disconnect_project
from uherding_backend.console import Console
from uherding_backend.errors import UHerdingError, UnknownProjectError
from uherding_backend.labels import ProjectId
from uherding_backend.settings import Settings
from uherding_backend.simulation.arguments import Options, add_arguments
from uherding_backend.status import overview
from uherding_backend.store import RoundState, Store
from uherding_backend.store.actions import Action

Command = Callable[[Settings, argparse.Namespace], int]

EPILOG = "Settings come from environment variables; docs/settings.md lists them all."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code. People's mistakes get a sentence, not a traceback."""
    parsed = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        settings = Settings.from_environment(os.environ)  # noqa: TID251 - the one place
        if parsed.data_dir is not None:
            settings = replace(settings, data_dir=parsed.data_dir)
        return int(parsed.run(settings, parsed))
    except (UHerdingError, ModelError, OSError, sqlite3.Error) as error:
        print(f"uherding: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(settings: Settings, parsed: argparse.Namespace) -> int:
    from uherding_backend.serving import check_port_is_free, serve

    settings = replace(settings, port=parsed.port or settings.port)
    check_port_is_free(settings.host, settings.port)
    print(f"uherding-backend listens on http://{settings.host}:{settings.port}", flush=True)
    if not settings.has_password:
        print(
            "No BASIC_AUTH_USER and BASIC_AUTH_PASS are set, so only this machine can reach it.",
            flush=True,
        )
    serve(settings, time.time, with_worker=not parsed.no_worker)  # noqa: TID251 - handed down
    return 0


def _worker(settings: Settings, parsed: argparse.Namespace) -> int:
    from uherding_backend.labelstudio import connect_with
    from uherding_backend.serving import exit_with_parent
    from uherding_backend.worker import Worker

    if parsed.exit_with_parent:
        exit_with_parent()
    clock = time.time  # noqa: TID251 - handed down
    worker = Worker(Store(settings.data_dir), settings, clock, connect_with(settings))
    worker.run(threading.Event())
    return 0


def _connect(settings: Settings, parsed: argparse.Namespace) -> int:
    given = {
        "round_size": parsed.round_size,
        "queue_size": parsed.queue_size,
        "strategy": parsed.strategy,
        "classifier": parsed.classifier,
    }
    options: dict[str, object] = {name: n for name, n in given.items() if n is not None}
    if parsed.prelabel:
        options["prelabel"] = True
    url = parsed.backend_url or f"http://127.0.0.1:{settings.port}"
    title = connect_project(settings, ProjectId(parsed.project), url, options)
    print(f'Connected project {parsed.project} "{title}" to {url}.')
    print(f"The first queue is on its way: `uherding status`, or {url}/ in a browser.")
    return 0


def _disconnect(settings: Settings, parsed: argparse.Namespace) -> int:
    store = Store(settings.data_dir)
    with _saying_where(settings):
        project = store.projects.get(ProjectId(parsed.project))
    disconnect_project(settings, project.id, project.backend_url)
    store.projects.disconnect(project.id)
    print(f"Disconnected project {project.id}. Annotators keep the queue that is up.")
    return 0


def _round(settings: Settings, parsed: argparse.Namespace) -> int:
    store = Store(settings.data_dir)
    with _saying_where(settings):
        project = store.projects.get_active(ProjectId(parsed.project))
    now = time.time()  # noqa: TID251 - the moment of asking
    asked = store.rounds.ask(project.id, "asked for with `uherding round`", now)
    if asked:
        who = f"{_system_user()} on this machine"
        store.actions.record(project.id, Action(now, who, "asked for a round"))
    print("A round was asked for." if asked else "A round is already waiting.", flush=True)
    return _follow(store, project.id) if parsed.wait else 0


@contextmanager
def _saying_where(settings: Settings) -> Iterator[None]:
    """Say where a project was looked for that is not there."""
    try:
        yield
    except UnknownProjectError as error:
        raise UnknownProjectError(f"{error} {_where(settings)}") from error


def _where(settings: Settings) -> str:
    return f"The data directory is {settings.data_dir.absolute()}; --data-dir takes another."


def _system_user() -> str:
    """Whoever may write the data directory may ask for rounds; this is for the record."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # as in a container that runs as a number
        return f"user {number}"


def _follow(store: Store, project: ProjectId) -> int:
    """Show the newest round's progress until it ends."""
    console = _console()
    while True:
        newest = store.rounds.latest(project, limit=1)[0]
        if newest.state in (RoundState.PUBLISHED, RoundState.FAILED):
            break
        console.renew(f"Round {newest.id}: {newest.step or newest.state.value}", newest.progress)
        time.sleep(0.3)
    if newest.state is RoundState.FAILED:
        raise UHerdingError(f"Round {newest.id} failed: {newest.error}")
    report = newest.report
    console.say(
        f"Round {newest.id} published {report['queue']} tasks from {report['labels']} labels."
    )
    return 0


def _status(settings: Settings, parsed: argparse.Namespace) -> int:
    here = settings.data_dir.exists()  # or looking would make it
    projects = overview(Store(settings.data_dir), settings) if here else []
    if parsed.json:
        print(json.dumps(projects, indent=2))
        return 0
    if not projects:
        print("No project is connected yet. Connect one with `uherding connect PROJECT`.")
        print(_where(settings))
    for project in projects:
        print(f"Project {project['id']} {project['title']!r}: {project['state']}")
        print(
            f"  {project['labels']} labels of {project['tasks']} tasks; "
            f"{project['new_labels']} of {project['round_size']} towards the next round"
        )
        if project["problem"]:
            print(f"  What is wrong: {project['problem']}")
        for round_ in project["rounds"][:5]:
            doing = f" ({round_['step']} {round_['progress']:.0%})" if round_["step"] else ""
            print(f"  round {round_['id']}: {round_['state']}{doing}, {round_['reason']}")
        for note in project["notes"]:
            print(f"  note: {note}")
    return 0


def _demo(_: Settings, parsed: argparse.Namespace) -> int:
    from uherding_backend.demo.run import run_demo

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):  # both stop every child before the end
        signal.signal(number, interrupt)
    return run_demo(parsed.directory, parsed.label_studio, parsed.labels, _console())


def _simulate(settings: Settings, parsed: argparse.Namespace) -> int:
    from uherding_backend.simulation.command import list_strategies, simulate

    if parsed.list:
        list_strategies(_console())
    else:
        simulate(
            Options.of(parsed),
            _console(),
            time.monotonic,
            simclr_epochs=settings.simclr_epochs,
        )
    return 0


def _console() -> Console:
    return Console(lambda text: print(text, end="", flush=True), sys.stdout.isatty())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="uherding",
        description="Label Studio backend that puts the most useful images first.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Command, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, epilog=EPILOG)
        command.add_argument(
            "--data-dir", type=Path, help="where state is kept (UHERDING_DATA_DIR; default: data)"
        )
        command.set_defaults(run=run)
        return command

    serve = add("serve", _serve, "Run the web server and the worker.")
    serve.add_argument("--port", type=int, help="port to listen on (UHERDING_PORT; default: 9090)")
    serve.add_argument("--no-worker", action="store_true", help="only the web server")
    worker = add("worker", _worker, "Run only the worker: rounds, one at a time.")
    worker.add_argument("--exit-with-parent", action="store_true", help=argparse.SUPPRESS)
    connect = add(
        "connect", _connect, "Connect a Label Studio project (as in its Settings > Model)."
    )
    connect.add_argument("project", type=int, help="the project's id: the number in its address")
    connect.add_argument(
        "--backend-url", help="address of this backend as Label Studio reaches it (default: local)"
    )
    connect.add_argument("--round-size", type=int, help="labels per round (UHERDING_ROUND_SIZE)")
    connect.add_argument("--queue-size", type=int, help="tasks in a queue (default: 3 rounds)")
    connect.add_argument("--prelabel", action="store_true", help="tick the predicted class")
    connect.add_argument(
        "--strategy", metavar="NAME", help="what chooses; `uherding simulate --list` shows all"
    )
    connect.add_argument(
        "--classifier", metavar="NAME", help=f"what is trained: {', '.join(CLASSIFIERS)}"
    )
    disconnect = add("disconnect", _disconnect, "Stop working for a project; its data stays.")
    disconnect.add_argument("project", type=int, help="the project's id: the number in its address")
    round_ = add("round", _round, "Ask for a round now.")
    round_.add_argument("project", type=int, help="the project's id: the number in its address")
    round_.add_argument("--wait", action="store_true", help="show progress until it has ended")
    status = add("status", _status, "Show projects, rounds, what runs, what failed and what to do.")
    status.add_argument("--json", action="store_true", help="everything, as JSON")
    demo = add(
        "demo", _demo, "Start a real Label Studio with a demo project (`make demo` does it all)."
    )
    demo.add_argument("--directory", type=Path, default=Path(".demo"), help="default: .demo")
    demo.add_argument(
        "--label-studio", type=Path, required=True, help="the label-studio program to start"
    )
    demo.add_argument(
        "--labels", type=int, default=0, help="have a scripted annotator give so many labels"
    )
    add_arguments(
        add("simulate", _simulate, "Show what active learning saves, on data labelled already.")
    )
    return parser
