"""Where commands write: lines that stay, and one line that is renewed while people wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Write = Callable[[str], None]
WIDTH = 78
BAR = 24


@dataclass
class Console:
    """Text for a person. Not on a terminal, each text of the renewed line is written once."""

    write: Write
    terminal: bool
    _renewed: str = ""
    _written: set[str] = field(default_factory=set)

    def say(self, text: str = "") -> None:
        """A line that stays."""
        self._wipe()
        self.write(f"{text}\n")

    def renew(self, text: str, done: float | None = None, detail: str = "") -> None:
        """The line that shows what is going on; terminals also get a bar and the detail."""
        if not self.terminal:
            if text not in self._written:
                self.write(f"{text}\n")
            self._written.add(text)
        else:
            filled = round(BAR * (done or 0.0))
            bar = "" if done is None else f" [{'#' * filled}{'.' * (BAR - filled)}] {done:4.0%}"
            self.write(f"\r{(text + detail + bar)[:WIDTH]:<{WIDTH}}")
        self._renewed = text

    def _wipe(self) -> None:
        if self._renewed and self.terminal:
            self.write("\r" + " " * WIDTH + "\r")
        self._renewed = ""
