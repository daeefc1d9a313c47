"""The demo itself, as `make demo` runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.support.live import TOKEN, LiveLabelStudio


@pytest.fixture
def demo_command(
    request: pytest.FixtureRequest, real_label_studio: LiveLabelStudio, tmp_path: Path
) -> list[str]:
    """The demo in a directory of its own, with a database that is already migrated."""
    program: Path = request.config.getoption("--labelstudio")
    template = program.absolute().parents[2] / "template"
    shutil.copytree(template / "label-studio", tmp_path / "label-studio")
    (tmp_path / "demo.json").write_text(json.dumps({"password": "unused", "token": TOKEN}))
    return [
        *(sys.executable, "-m", "uherding_backend", "demo"),
        *("--directory", str(tmp_path), "--label-studio", str(program)),
    ]


def test_the_demo_labels_reports_each_round_and_then_stays_until_interrupted(
    demo_command: list[str],
) -> None:
    labelled = subprocess.run(  # noqa: S603
        [*demo_command, "--labels", "25"], capture_output=True, text=True, timeout=400, check=False
    )

    assert labelled.returncode == 0, labelled.stdout + labelled.stderr
    rounds = re.findall(r"^ +(\d+) +([\d.]+)% +([\d.]+)% ±", labelled.stdout, re.MULTILINE)
    assert [int(labels) for labels, _, _ in rounds] == [20, 25]
    assert all(float(ours) > 30 for _, ours, _ in rounds)
    assert labelled.stdout.count("  ok      ") == 3

    with subprocess.Popen(demo_command, stdout=subprocess.PIPE, text=True) as staying:  # noqa: S603
        url = _wait_for_url(staying)
        assert requests.get(f"{url}/health", timeout=10).ok
        os.kill(staying.pid, signal.SIGINT)
        last = staying.stdout.read() if staying.stdout else ""

    assert staying.returncode == 0
    assert "labels and rounds are kept" in last
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{url}/health", timeout=10)


def _wait_for_url(demo: subprocess.Popen[str]) -> str:
    """Read the demo's output until it says where Label Studio is and that all is up."""
    assert demo.stdout is not None
    url, started = "", time.monotonic()
    for line in demo.stdout:
        assert time.monotonic() - started < 120, "the second start took too long"
        found = re.search(r"Label Studio +(http://[^/]+)", line)
        url = found.group(1) if found else url
        if "then a round runs" in line:
            return url
    raise AssertionError("the demo ended before it was up")
