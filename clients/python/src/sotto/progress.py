"""Progress of uploads and ingestions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Literal, TextIO, TypeAlias

Phase: TypeAlias = Literal["upload", "wait", "copy", "check", "read", "store", "done", "failed"]

_PHASES = {
    "upload": "uploading",
    "wait": "waiting for other ingestions",
    "copy": "copying the source",
    "check": "checking the source",
    "read": "reading the values",
    "store": "storing the rows",
}
_REPORT_EVERY_BYTES = 2**20
_LONGEST_LINE = 80


@dataclass(frozen=True)
class Progress:
    """State of the work on a file. The phases follow each other; the last one is `done` or `failed`."""

    name: str
    """Name of the file or dataset."""
    phase: Phase
    """`upload`, or as the service reports its ingestion: `wait` for other ones, `copy`, `check`, `read` and `store`."""
    fraction: float | None = None
    """Part of the phase that is done, from 0 to 1; None if it is not known."""
    sent_bytes: int | None = None
    """Only during an upload."""
    total_bytes: int | None = None
    """Only during an upload: size of the file."""

    def __str__(self) -> str:
        part = "" if self.fraction is None or self.phase == "done" else f" {self.fraction:.0%}"
        if self.sent_bytes is not None and self.total_bytes is not None:
            part += f", {self.sent_bytes / 1e6:.1f} of {self.total_bytes / 1e6:.1f} MB"
        return f"{self.name}: {_PHASES.get(self.phase, self.phase)}{part}"


Report: TypeAlias = Callable[[Progress], None]
"""Receives the progress. While the service ingests, the synchronous client calls it in another thread."""


def show_progress(progress: Progress) -> None:
    """Show the progress as one line in a notebook or on a terminal, in place of the one before; elsewhere nothing."""
    stream = _shown_on()
    if stream is None:
        return
    width = min(_LONGEST_LINE, shutil.get_terminal_size().columns) - 1
    end = "\n" if progress.phase in ("done", "failed") else ""
    # Blanks, because notebooks do not know the escape sequence that clears a line.
    stream.write(f"\r{str(progress)[:width].ljust(width)}{end}")
    stream.flush()


def _shown_on() -> TextIO | None:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # A shell with a kernel is that of a notebook, which gives standard error the look of a failure.
    if getattr(shell, "kernel", None) is not None:
        return sys.stdout
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None


class SentFile:
    """An open file that reports how much of it was sent. It is sent from its start, also when it is sent again."""

    def __init__(self, name: str, file: BinaryIO, report: Report) -> None:
        self.name = name
        self._file = file
        self._report = report
        self._total_bytes = file.seek(0, 2)
        self._reported_bytes = 0

    def read(self, size: int = -1) -> bytes:
        """Read the next bytes. All that was read before has been sent."""
        sent_bytes = self._file.tell()
        chunk = self._file.read(size)
        if sent_bytes == 0 or not chunk or sent_bytes - self._reported_bytes >= _REPORT_EVERY_BYTES:
            self._reported_bytes = sent_bytes
            fraction = sent_bytes / self._total_bytes if self._total_bytes else 1.0
            self._report(Progress(self.name, "upload", fraction, sent_bytes, self._total_bytes))
        return chunk

    def seek(self, offset: int, whence: int = 0) -> int:
        """Set the position."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()
