"""Kernels to one library per processor, with a table of them, in a folder beside a model."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.engine.ahead import interface, processors, table, trust
from pinnace.framework.errors import FailedPreconditionError, InternalError
from pinnace.framework.versions import VERSION
from pinnace.storage.atomic import replace_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.ahead.processors import Processor

_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-O2", "-fPIC", "-shared", "-std=gnu11", "-Wl,-Bsymbolic", "-Wl,-z,defs", "-Wl,-s")


class Written(NamedTuple):
    """A library that was written.

    Attributes:
        library: what the table says of it.
        seconds: to compile and to link; those of all its kernels, one after another.
        bytes: of its file.
    """

    library: table.Library
    seconds: float
    bytes: int


def c_compiler() -> str:
    """The command of the C compiler.

    Raises:
        FailedPreconditionError: there is none, or this system is not Linux.
    """
    if sys.platform != "linux":
        raise FailedPreconditionError(
            f"kernels are compiled ahead on Linux and for it, not on {sys.platform}"
        )
    wanted = os.environ.get("CC")
    for name in [wanted] if wanted else _COMPILERS:
        if shutil.which(name):
            return name
    raise FailedPreconditionError(
        f"there is no C compiler: {wanted or ', '.join(_COMPILERS)}\n"
        "  Try: apt-get install gcc libc6-dev, or CC=COMPILER"
    )


def chosen(names: Sequence[str]) -> list[Processor]:
    """The processors of these names, each once.

    Raises:
        InvalidArgumentError: there is none of a name.
    """
    from pinnace.engine.codegen import objects  # imports Numba

    host = objects.host()
    return [processors.processor(name, host) for name in dict.fromkeys(names)]


def write(
    texts: Sequence[str],
    wanted: Sequence[Processor],
    target: Path,
    advance: Callable[[], object],
) -> list[Written]:
    """Compile kernels, and put their libraries and table into a folder, in one step.

    Args:
        texts: of the kernels' modules, their header included.
        wanted: processors to compile for.
        target: the folder, which is made, or replaced.
        advance: called after each kernel, by any thread.

    Raises:
        FailedPreconditionError: there is no C compiler, or it cannot do what it is asked.
        InternalError: the program that compiles kernels has failed.
    """
    command = c_compiler()
    target.parent.mkdir(parents=True, exist_ok=True)
    workers = min(len(wanted), os.cpu_count() or 1)
    with replace_folder(target, journal=True) as folder, tempfile.TemporaryDirectory() as scratch:

        def make(processor: Processor) -> Written:
            objects = Path(scratch) / processor.name
            objects.mkdir()
            return _library(texts, processor, command, objects, folder, advance)

        with ThreadPoolExecutor(workers) as pool:
            made = list(pool.map(make, wanted))
        content = table.written([one.library for one in made], VERSION)
        (folder / table.FILE).write_bytes(content)
        # Another user may be the one who runs the model.
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
    trust.vouch(trust.digest_of(content))
    return made


def _library(
    texts: Sequence[str],
    processor: Processor,
    command: str,
    scratch: Path,
    folder: Path,
    advance: Callable[[], object],
) -> Written:
    began = perf_counter()
    answers = _answers(texts, processor, scratch, advance)
    kernels = {
        one["digest"]: table.Entry(Path(one["file"]).stem, one["arguments"], one["results"])
        for one in answers
        if one["file"] is not None
    }
    refused = {one["digest"]: one["reason"] for one in answers if one["file"] is None}
    file = f"{processor.name}.so"
    identity = trust.digest_of("\n".join([table.version(), processor.name, *kernels]).encode())
    code = scratch / "interface.c"
    code.write_text(interface.source(list(kernels.values()), identity))
    # Names of objects in a file: there may be more than a command line takes.
    listed = scratch / "objects"
    listed.write_text("".join(f'"{scratch / one.symbol}.o"\n' for one in kernels.values()))
    _run([command, *_OPTIONS, "-o", str(folder / file), str(code), f"@{listed}", "-lm"])
    content = (folder / file).read_bytes()
    library = table.Library(
        processor.name,
        platform.machine(),
        list(processor.requires),
        file,
        trust.digest_of(content),
        identity,
        kernels,
        refused,
    )
    return Written(library, perf_counter() - began, len(content))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        told = done.stderr.strip().splitlines()
        raise FailedPreconditionError(
            f"{command[0]} cannot link the kernels: {told[-1] if told else done.returncode}\n"
            "  Try: apt-get install gcc libc6-dev, or CC=COMPILER"
        )


def _answers(
    texts: Sequence[str], processor: Processor, scratch: Path, advance: Callable[[], object]
) -> list[dict[str, Any]]:
    """What became of each kernel; see `codegen.objects`."""
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": processor.cpu,
        "NUMBA_CPU_FEATURES": processor.features,
    }
    program = subprocess.Popen(
        [sys.executable, "-m", "pinnace.engine.codegen.objects"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    said: list[str] = []
    with program:
        assert program.stdin and program.stdout and program.stderr  # noqa: S101,PT018 - for mypy
        # Read beside the answers: a full pipe would hold the program up.
        listener = threading.Thread(target=lambda: said.extend(program.stderr or ()))
        listener.start()
        program.stdin.write(json.dumps({"texts": list(texts), "folder": str(scratch)}))
        program.stdin.close()
        found = []
        for line in program.stdout:
            found.append(json.loads(line))
            advance()
        listener.join()
    if program.returncode or len(found) != len(texts):
        last = said[-1].strip() if said else f"it ended with {program.returncode}"
        raise InternalError(f"kernels for {processor.name} could not be compiled: {last}")
    return found
