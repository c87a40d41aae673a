"""`pinnace compile`: ahead-of-time kernels, stored with a model, for processes without Numba."""

# No `from __future__ import annotations`: typer reads the annotations.
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinnace.deploy.cli.terminal import Terminal, print_json, size_text, time_text
from pinnace.deploy.cli.warmup import (
    Asked,
    BatchSizes,
    InputShapes,
    SignatureNames,
    progress_bar,
)
from pinnace.deploy.models.finding import find_model
from pinnace.deploy.models.kinds import SAVED_MODEL
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.engine.ahead.writing import Written

_COLUMNS = ("processor", "file", "kernels", "of", "bytes", "seconds")


def compile(
    model: Annotated[Path, typer.Argument(help="A SavedModel's folder.", show_default=False)],
    processors: Annotated[
        str,
        typer.Option(
            help="For which processors, comma-separated: native is this machine's; on x86-64 also "
            "x86-64, x86-64-v2, x86-64-v3 and x86-64-v4, on arm64 also generic.",
            metavar="NAMES",
        ),
    ] = "native",
    output: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the libraries and their table, if it is not to be "
            "assets.extra/pinnace_kernels in the model: for one that cannot be written to.",
            show_default=False,
        ),
    ] = None,
    signature: SignatureNames = None,
    batch: BatchSizes = "1",
    inputs: InputShapes = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the libraries as JSON.")] = False,
) -> int:
    """Compile kernels into files beside MODEL, for processes that have no Numba.

    Needs Numba and a C compiler here, and neither where the model runs. That the files were made
    here is noted in PINNACE_CACHE: a process uses them only if its own cache folder has the note,
    or PINNACE_KERNELS the digest that is printed. Exits with 1 if a kernel could not be compiled.
    """
    from pinnace.engine import warming
    from pinnace.engine.ahead import table, trust, writing
    from pinnace.engine.codegen import compiler
    from pinnace.serving import acceleration

    asked = Asked(model, signature, batch, inputs)
    names = [one.strip() for one in processors.split(",") if one.strip()]
    if not names:
        raise InvalidArgumentError(f"--processors must name one at least, got {processors!r}")
    # What is missing is told before minutes are spent.
    warming.check()
    writing.linker()
    wanted = writing.chosen(names)
    path, _ = find_model(model, (SAVED_MODEL,))
    if output is None and not model.is_dir() and model.parent != path:
        raise InvalidArgumentError(
            f"{model} is not a folder in which kernels can be stored\n"
            "  Try: save it as a SavedModel first, or --output FOLDER"
        )
    target = output or path / table.FOLDER
    with progress_bar() as progress:
        asked.warm(progress)
        acceleration.ask_for_digit_reader()
        texts = warming.texts()
        failed = [one for one in warming.report() if one.error is not None]
        if not texts:
            raise FailedPreconditionError(f"{model}: nothing of it can be compiled")
        task = progress.add_task(", ".join(names), total=len(texts) * len(wanted))
        made = writing.write(
            [compiler.full_text(text) for text in texts],
            wanted,
            target,
            lambda: progress.advance(task),
        )
    digest = trust.digest_of((target / table.FILE).read_bytes())
    trust.vouch(digest)
    if as_json:
        print_json({"folder": str(target), "digest": digest, "libraries": _told(made)})
    else:
        _print(made, target, digest, len(failed))
    return 1 if failed or any(one.library.refused for one in made) else 0


def _told(made: "list[Written]") -> list[dict[str, Any]]:
    return [
        {
            "processor": one.library.processor,
            "file": one.library.file,
            "requires": one.library.requires,
            "kernels": len(one.library.kernels),
            "refused": sorted(one.library.refused.values()),
            "bytes": one.bytes,
            "seconds": one.seconds,
        }
        for one in made
    ]


def _print(made: "list[Written]", target: Path, digest: str, failed: int) -> None:
    terminal = Terminal()
    rows = []
    for one in made:
        kernels = len(one.library.kernels)
        rows.append(
            (
                one.library.processor,
                one.library.file,
                str(kernels),
                str(kernels + len(one.library.refused)),
                size_text(one.bytes),
                time_text(one.seconds),
            )
        )
    terminal.table(_COLUMNS, rows, right=(2, 3, 4, 5))
    for one in made:
        for reason, count in Counter(one.library.refused.values()).items():
            terminal.line(f"{one.library.processor}: {count} not compiled ahead: {reason}")
    if failed:
        terminal.line(f"{failed} could not be compiled at all: pinnace warmup says why")
    terminal.line(f"in {target}; PINNACE_KERNELS={digest}")
