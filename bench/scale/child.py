"""A command as a child process: time, processor time and peak memory as the system saw them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
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
    stdout, stderr = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Run(process.returncode, seconds, cpu, usage.ru_maxrss / 1024, stdout, stderr)


def program() -> str:
    """The command: $PROPERLOSS, or the release build of this checkout."""
    built = Path(__file__).parents[2] / "target/release/properloss"
    return os.environ.get("PROPERLOSS", str(built))


def python(script: str, *arguments: object) -> list[str]:
    """A script beside this file."""
    path = str(Path(__file__).parent / script)
    return [sys.executable, path, *(str(argument) for argument in arguments)]
