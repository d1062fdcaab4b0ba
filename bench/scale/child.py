"""A command as a child process: time, processor time and peak memory as the system saw them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Run:
    """What a command took."""

    code: int
    seconds: float
    cpu: float
    peak_mb: float
    stdout: str
    stderr: str


def run(command: list[str], data_limit: int | None = None) -> Run:
    """Runs a command, under RLIMIT_DATA if a number of bytes is given."""

    def limit() -> None:
        if data_limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data_limit, data_limit))

    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit
    )
    assert process.stdout is not None and process.stderr is not None
    peak = Peak(process.pid)
    stdout, stderr = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(process.returncode, seconds, cpu, peak.megabytes(), stdout, stderr)


class Peak:
    """The largest resident set of a process. (`ru_maxrss` counts what the parent held before the start.)"""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._kilobytes = 0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while True:
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
            if not found:
                return
            self._kilobytes = max(self._kilobytes, found[0])
            time.sleep(0.02)

    def megabytes(self) -> float:
        self._thread.join()
        return self._kilobytes / 1024


def program() -> str:
    """The command: $PROPERLOSS, or the release build of this checkout."""
    built = Path(__file__).parents[2] / "target/release/properloss"
    return os.environ.get("PROPERLOSS", str(built))


def python(script: str, *arguments: object) -> list[str]:
    """A script beside this file."""
    path = str(Path(__file__).parent / script)
    return [sys.executable, path, *(str(argument) for argument in arguments)]
