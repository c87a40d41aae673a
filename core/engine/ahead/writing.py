"""Compiles kernels to one library per processor, with a table, in a folder."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from pinnace.engine.ahead import processors, sources, systems, table
from pinnace.engine.ahead.compiling import CompilerProcess, EndedError
from pinnace.framework.errors import FailedPreconditionError, InternalError
from pinnace.storage.atomic import replace_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.ahead.processors import Processor
    from pinnace.engine.ahead.systems import System

_COMPILERS = ("cc", "gcc", "clang")
_TRY = "pip install ziglang"


class Written(NamedTuple):
    """A library that was written.

    Attributes:
        library: its entry in the table.
        seconds: elapsed time of compiling and linking.
        bytes: the size of its file.
    """

    library: table.Library
    seconds: float
    bytes: int


def this_system() -> System:
    """The system of this process.

    Raises:
        FailedPreconditionError: there are no libraries for it.
    """
    found = systems.here()
    if found is None:
        raise FailedPreconditionError(
            f"kernels are compiled for {', '.join(systems.names())}, and this is "
            f"{systems.description()}"
        )
    return found


def linker(system: System | None = None) -> list[str]:
    """The link command: a C compiler, or the package `ziglang`.

    A C compiler links for the machine that it runs on. Zig links for all systems, and for versions
    of them that are older than this machine's.

    Args:
        system: the target system; None: this machine.

    Raises:
        FailedPreconditionError: there is no linker, or there are no libraries for this system.
    """
    own = this_system()
    target = system or own
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", target.linked_as]
    has_zig = importlib.util.find_spec("ziglang") is not None
    # Windows has no C compiler with these options.
    if system is not None or own.platform == "win32":
        if has_zig:
            return zig
        raise FailedPreconditionError(
            f"a library for {target.name} is linked by Zig, which is not installed\n  Try: {_TRY}"
        )
    wanted = os.environ.get("CC")
    for name in [wanted] if wanted else _COMPILERS:
        if shutil.which(name):
            return [name]
    if not wanted and has_zig:
        return zig
    raise FailedPreconditionError(
        f"there is no C compiler: {wanted or ', '.join(_COMPILERS)}\n"
        f"  Try: apt-get install gcc libc6-dev, {_TRY}, or CC=COMPILER"
    )


def chosen(names: Sequence[str], system: System | None = None) -> list[Processor]:
    """The processors with these names, without duplicates.

    Args:
        names: names from `processors.known`.
        system: the target system; this one by default.

    Raises:
        InvalidArgumentError: a name is unknown.
        FailedPreconditionError: this machine cannot compile for the system.
    """
    from pinnace.engine.codegen import objects  # imports Numba

    if system and system.machine == systems.X86 != systems.machine():
        raise FailedPreconditionError(
            f"kernels for {system.name} are compiled on an x86-64 machine, and this is "
            f"{systems.description()}"
        )
    host = objects.host()
    return [processors.processor(name, host, system) for name in dict.fromkeys(names)]


def write(
    texts: Mapping[str, str],
    wanted: Sequence[Processor],
    target: Path,
    advance: Callable[[], object],
    system: System | None = None,
) -> list[Written]:
    """Compile kernels, and write their libraries and table to a folder, atomically.

    Args:
        texts: the sources of the kernels' modules, including headers, by the kernels' names.
        wanted: the processors to compile for.
        target: the folder, created or replaced.
        advance: called after each kernel, from any thread.
        system: the target system; None: this machine.

    Raises:
        FailedPreconditionError: there is no linker, or it cannot target the processor.
        InternalError: the program that compiles kernels has failed.
    """
    command = linker(system)
    system = system or this_system()
    version = sources.version()  # before files may change
    target.parent.mkdir(parents=True, exist_ok=True)
    cores = os.cpu_count() or 1
    workers = min(len(wanted), cores)
    programs = -(-cores // workers)  # per processor
    with replace_folder(target, journal=True) as folder, tempfile.TemporaryDirectory() as scratch:

        def make(processor: Processor) -> Written:
            objects = Path(scratch) / processor.name
            objects.mkdir()
            return _library(texts, processor, system, command, objects, folder, programs, advance)

        with ThreadPoolExecutor(workers) as pool:
            made = list(pool.map(make, wanted))
        content = table.written([one.library for one in made], version)
        (folder / table.FILE).write_bytes(content)
        # Another user may run the installation.
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return made


def _library(
    texts: Mapping[str, str],
    processor: Processor,
    system: System,
    command: Sequence[str],
    scratch: Path,
    folder: Path,
    programs: int,
    advance: Callable[[], object],
) -> Written:
    began = perf_counter()
    try:
        reasons = _answers(texts, processor, system, scratch, programs, advance)
        kernels = {name: table.symbol_of(text) for name, text in texts.items() if not reasons[name]}
        if not kernels:  # the reason for the first applies to all
            name, reason = next(iter(reasons.items()))
            raise InternalError(f"{name} could not be compiled for {processor.name}: {reason}")
        with contextlib.closing(_process(processor, system)) as process:
            code = process.join([str(scratch / symbol) for symbol in kernels.values()])
    except EndedError as error:
        raise InternalError(
            f"kernels for {processor.name} could not be compiled: {error}"
        ) from error
    objects = scratch / "kernels.o"
    objects.write_bytes(code)
    file = f"{processor.name}{system.suffix}"
    # Some linkers write further files beside the library.
    linked = scratch / file
    _run([*command, *system.options, "-o", str(linked), str(objects), "-lm"])
    content = linked.read_bytes()
    (folder / file).write_bytes(content)
    library = table.Library(
        processor.name,
        system.platform,
        system.machine,
        list(processor.requires),
        file,
        table.digest_of(content),
        kernels,
        {name: reason for name, reason in reasons.items() if reason},
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
            f"  Try: apt-get install gcc libc6-dev, {_TRY}, or CC=COMPILER"
        )


def _answers(
    texts: Mapping[str, str],
    processor: Processor,
    system: System,
    scratch: Path,
    programs: int,
    advance: Callable[[], object],
) -> dict[str, str]:
    """Compile kernels to files named by symbol in `scratch`; the reason for each failure, or "".

    Raises:
        EndedError: a compiling process ended unexpectedly.
    """
    # Long sources take longest: start with them, so that none is the last to finish.
    left = iter(sorted(texts, key=lambda name: len(texts[name]), reverse=True))
    lock = threading.Lock()

    def serve(_: int) -> dict[str, str]:
        found: dict[str, str] = {}
        with contextlib.closing(_process(processor, system)) as process:
            while True:
                with lock:
                    name = next(left, None)
                if name is None:
                    return found
                answer = process.compile(texts[name])
                if not answer.reason:
                    (scratch / table.symbol_of(texts[name])).write_bytes(answer.code)
                found[name] = answer.reason
                advance()

    with ThreadPoolExecutor(programs) as pool:
        return {name: why for one in pool.map(serve, range(programs)) for name, why in one.items()}


def _process(processor: Processor, system: System) -> CompilerProcess:
    """A process that compiles for a processor of a system."""
    cpu, features = processor.first or (processor.cpu, processor.features)
    options = ["--long-bytes", str(system.long_bytes)]
    # Without a target, Numba's code is for a linker of Linux.
    if system != systems.here() or system.platform != "linux":
        options += ["--target", system.triple, processor.cpu, processor.features]
    return CompilerProcess({"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": features}, options)
