import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
import numpy
from threadpoolctl import threadpool_info

def threads(package):
    return [one["num_threads"] for one in threadpool_info() if package in one["filepath"]]

before, setting = threads("numpy.libs"), os.environ.get("OPENBLAS_NUM_THREADS")
import model.classifier
print(threads("scipy.libs"), threads("numpy.libs") == before)
assert os.environ.get("OPENBLAS_NUM_THREADS") == setting
"""


@pytest.mark.parametrize("setting", ["", "2"])
def test_scipy_has_one_thread_and_numpy_as_many_as_before(setting: str) -> None:
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}  # noqa: TID251
    environment = others | ({"OPENBLAS_NUM_THREADS": setting} if setting else {})

    ended = subprocess.run(  # noqa: S603 - a fresh interpreter
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == "[1] True"
