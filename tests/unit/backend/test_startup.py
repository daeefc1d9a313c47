"""What is heavy is loaded by the first round, not by whoever only starts up or answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    *("torch", "torchvision", "timm", "scipy", "sklearn", "PIL"),
    *("plotly", "label_studio_ml", "huggingface_hub", "safetensors"),
)

BEGIN = """
import sys
from pathlib import Path
from uherding_backend.settings import Settings
from uherding_backend.store import Store

settings = Settings(data_dir=Path(sys.argv[1]))
store = Store(settings.data_dir)
"""
END = f"""
print(sorted({set(HEAVY)} & set(sys.modules)))
"""
ANSWER = """
import uherding_backend.serving
from fastapi.testclient import TestClient
from uherding_backend.server import create_app

client = TestClient(create_app(settings, store, lambda: 0.0))
assert client.get("/health").json()["status"] == "UP"
assert client.get("/").status_code == 200
assert client.get("/api/projects").json() == []
event = {"action": "ANNOTATION_CREATED", "project": {"id": 1}}
assert client.post("/webhook", json=event).status_code == 201
"""
WORK = """
from uherding_backend.labelstudio import connect_with
from uherding_backend.worker import Worker

assert not Worker(store, settings, lambda: 0.0, connect_with(settings)).step()
"""
HELP = """
from uherding_backend.cli import main

try:
    main(["serve", "--help"])
except SystemExit:
    pass
"""


@pytest.mark.parametrize("program", [ANSWER, WORK, HELP], ids=["answer", "work", "help"])
def test_starting_up_loads_nothing_heavy(program: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", BEGIN + program + END, str(tmp_path)]

    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "[]"
