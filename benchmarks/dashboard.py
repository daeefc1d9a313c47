"""How fluent the dashboard is with many images: answers of the server, frames of the map.

    python -m benchmarks.dashboard --images 50000

A project of that size is made up (features in clusters, a fifth of it labelled, 60 rounds), its map
is laid out as a round does it, and Debian's Chromium looks at it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import uvicorn

from benchmarks.dashboard_project import PROJECT, make_project
from uherding_backend.demo.processes import free_port
from uherding_backend.server import create_app
from uherding_backend.settings import Settings
from uherding_backend.store import Store

REPEATS = 7
PATHS = (
    *("/", "/projects/1", "/projects/1/stop", "/projects/1/queue", "/projects/1/map"),
    *("/projects/1/rounds", "/api/progress", "/api/projects/1", "/api/projects/1/curve"),
    *("/api/projects/1/insights", "/api/projects/1/queue", "/api/projects/1/map"),
)
FRAMES = """
() => {
  const times = (count, act) => {
    const found = [];
    for (let i = 0; i < count; i++) {
      const began = performance.now();
      act(i);
      found.push(performance.now() - began);
    }
    found.sort((a, b) => a - b);
    return { median: found[count >> 1], worst: found[count - 1] };
  };
  const sync = () => pen.getImageData(0, 0, 1, 1);  // waits until the canvas is really painted
  return {
    "move the map by a step": times(60, (i) => { view.x += 20; paint(); sync(); }),
    "zoom in by a step": times(30, (i) => { view.scale *= 1.06; paint(); sync(); }),
    "find the image under the mouse": times(500, (i) => nearest((i * 37) % 1000, (i * 53) % 400)),
    "colour by class": times(5, () => { colourBy.value = "class"; regroup(); paint(); sync(); }),
  };
}
"""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=50_000)
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))
        laid_out = make_project(store, images)
        print(f"{images:,} images, map laid out in {laid_out:.1f} s\n")  # noqa: T201
        with_server(store, lambda url: report(url, images))


def with_server(store: Store, use: Callable[[str], None]) -> None:
    """Serve the store while `use` runs."""
    port = free_port(0)
    app = create_app(Settings(data_dir=store.data_dir), store, time.time)  # noqa: TID251
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.05)
        use(f"http://127.0.0.1:{port}")
    finally:
        server.should_exit = True
        thread.join()


def report(url: str, images: int) -> None:
    """Print what was measured."""
    print("| answer | median ms | kB sent |\n|---|---|---|")  # noqa: T201
    for path in PATHS:
        seconds, size = answer(url + path)
        print(f"| `{path}` | {1000 * seconds:.0f} | {size / 1000:.0f} |")  # noqa: T201
    print("\n| in the browser | median ms | worst ms |\n|---|---|---|")  # noqa: T201
    for name, found in frames(url).items():
        print(f"| {name} | {found['median']:.1f} | {found['worst']:.1f} |")  # noqa: T201


def answer(url: str) -> tuple[float, int]:
    """Median seconds and bytes on the wire."""
    seconds, size = [], 0
    for _ in range(REPEATS):
        began = time.perf_counter()
        response = requests.get(url, timeout=60, stream=True)
        size = len(response.raw.read(decode_content=False))
        seconds.append(time.perf_counter() - began)
        response.raise_for_status()
    return statistics.median(seconds), size


def frames(url: str) -> dict[str, dict[str, float]]:
    """What the map's own functions take in a window of 1280 x 800."""
    from tests.support.browser import chromium

    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.perf_counter()
        page.goto(f"{url}/projects/{PROJECT}/map")
        page.wait_for_selector("#map[data-ready]", timeout=60_000)
        loaded = 1000 * (time.perf_counter() - began)
        found: dict[str, Any] = page.evaluate(FRAMES)
    return {"open the map": {"median": loaded, "worst": loaded}, **found}


if __name__ == "__main__":
    main()
