"""Builds the library of the general kernels.

Run as `python -m pinnace.engine.ahead.installing`, where the kernels' sources are: in the source
distribution, and in an installation from it. The library is part of the package, and takes two
minutes of processor time. An existing library with the same kernels is kept. Wheels for other
systems get theirs by `--system` and `--folder`.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from pinnace.engine.ahead import processors, reading, systems, table
from pinnace.engine.ahead.table import RefusedError
from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    from pinnace.engine.ahead.systems import System


def make(names: list[str], folder: Path, system: System | None = None) -> float | None:
    """Build the library for processors; the seconds it took, or None if it is up to date.

    Args:
        names: names of the processors; see `processors`.
        folder: the library's folder, created or replaced.
        system: the target, see `systems`; None: this machine.

    Raises:
        FailedPreconditionError: Numba or a linker is missing, or a kernel cannot be compiled.
    """
    from pinnace.engine.ahead import sources, writing

    texts = sources.texts()
    if _is_made(names, folder, system or writing.this_system()):
        return None
    if importlib.util.find_spec("numba") is None:
        raise FailedPreconditionError("Numba is not installed\n  Try: pip install numba")
    began = perf_counter()
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} of {len(texts) * len(names)} kernels")
            sys.stderr.flush()

    made = writing.write(texts, writing.chosen(names, system), folder, advance, system)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    for one in made:
        for name, reason in one.library.refused.items():
            raise FailedPreconditionError(f"{name} cannot be compiled ahead: {reason}")
    return perf_counter() - began


def _is_made(names: list[str], folder: Path, system: System) -> bool:
    from pinnace.engine.ahead import sources

    try:
        content = (folder / table.FILE).read_bytes()
        table.read(content, None)  # the check by a wheel without sources
        libraries = {
            one.processor: one
            for one in table.read(content, sources.version())
            if (one.system, one.machine) == (system.platform, system.machine)
        }
    except (OSError, RefusedError):
        return False
    wanted = sources.symbols()
    return all(name in libraries and wanted == libraries[name].kernels for name in names)


def _check_sources() -> None:
    if not reading.has_sources():
        raise FailedPreconditionError(
            "this installation is from a wheel, which has no sources of kernels\n"
            f"  Try: {reading.COMPILE}"
        )


def main() -> int:
    """Run the command line; errors are fatal only if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--processors", help="names, comma-separated; by default this machine's, or all of SYSTEM"
    )
    parser.add_argument(
        "--system", help=f"by default this machine; else one of {', '.join(systems.names())}"
    )
    parser.add_argument("--folder", type=Path, default=reading.INSTALLED, help="for the files")
    parser.add_argument("--must", action="store_true", help="fail if it cannot be made")
    options = parser.parse_args()
    try:
        _check_sources()
        from pinnace.engine.ahead import writing

        system = systems.named(options.system) if options.system else None
        is_own = (system or writing.this_system()) == systems.here()
        if not is_own and options.folder == reading.INSTALLED:
            parser.error(
                "--system: a library for another system is not this installation's: --folder"
            )
        names = [processors.family()] if is_own else processors.known(system)
        if options.processors:
            names = options.processors.split(",")
        seconds = make(names, options.folder, system)
    except FailedPreconditionError as error:
        sys.stdout.write(f"no library of kernels is made: {error}\n")
        if not (options.folder / table.FILE).is_file():
            sys.stdout.write("Programs run without machine code, with the same answers.\n")
        return int(options.must)
    told = "is there" if seconds is None else f"made in {seconds:.0f} s"
    sys.stdout.write(f"{options.folder}: kernels for {', '.join(names)}: {told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
