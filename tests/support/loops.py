"""Compiled loops, which Python can run as well."""

from collections.abc import Callable
from typing import Any

Loop = Callable[..., Any]


def both(loop: Loop) -> list[Loop]:
    """As it is compiled and as it is written."""
    return [loop, loop.py_func]  # type: ignore[attr-defined]
