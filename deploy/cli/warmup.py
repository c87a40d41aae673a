"""`pinnace warmup`: machine code made ahead, so that later processes begin with it."""

# No `from __future__ import annotations`: typer reads the annotations.
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np
import typer

from pinnace.deploy.cli.inputs import random_input
from pinnace.deploy.cli.terminal import Terminal, print_json, size_text, time_text
from pinnace.deploy.models.finding import find_model, unknown_name
from pinnace.deploy.models.kinds import SAVED_MODEL
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from rich.progress import Progress

    from pinnace.engine.warming import Warmed

_COLUMNS = ("kernel", "what", "seconds", "bytes")

# Options of all commands that call a model until its kernels are there.
SignatureNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--signature", help="Only this signature. May be repeated.", metavar="NAME"),
]
BatchSizes: TypeAlias = Annotated[
    str, typer.Option(help="Sizes of first axes that are not known, comma-separated.")
]
InputShapes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        help="NAME=SHAPE, such as ids=8,128: the shape of an input. May be repeated.",
        metavar="NAME=SHAPE",
    ),
]


def warmup(
    model: Annotated[
        Path | None,
        typer.Argument(
            help="A SavedModel's folder, or a .keras or .h5 file; without one, only what is the "
            "same for all models.",
            show_default=False,
        ),
    ] = None,
    signature: SignatureNames = None,
    batch: BatchSizes = "1",
    inputs: InputShapes = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="Let all users read the cache folder: for images that others run."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the kernels as JSON.")] = False,
) -> int:
    """Compile ahead: the kernels of all models, and those of MODEL, into the cache folder.

    PINNACE_CACHE says where that is. An installation with kernels for this processor needs no
    warm-up; elsewhere a later process on the same kind of processor compiles nothing that is there.
    Exits with 1 if a kernel could not be made.
    """
    from pinnace.engine import warming
    from pinnace.engine.codegen import kept

    asked = Asked(model, signature, batch, inputs)
    warming.check()
    with progress_bar() as progress:
        asked.warm(progress)
    found = warming.report()
    if shared:
        kept.share()
    if as_json:
        print_json([one._asdict() for one in found])
    else:
        _print(found)
    return 1 if any(one.error is not None for one in found) else 0


class Asked:
    """The call that a command is to make, as its options say.

    Args:
        model: its path; None for the kernels of all models alone.
        signature: those that are called; None for all.
        batch: sizes of first axes that are not known, comma-separated.
        inputs: NAME=SHAPE of inputs.

    Raises:
        InvalidArgumentError: a size or a shape is none.
    """

    def __init__(
        self,
        model: Path | None,
        signature: list[str] | None,
        batch: str,
        inputs: list[str] | None,
    ) -> None:
        self._model, self._signature = model, signature
        self._sizes = [_size("--batch", text) for text in batch.split(",")]
        self._shapes = dict(_shape(text) for text in inputs or [])

    def warm(self, progress: "Progress") -> None:
        """Make the kernels of all models, then call the model until it asks for no more.

        Raises:
            OpError: the model cannot be loaded or run, or an input or size is not what it takes.
        """
        from pinnace.engine import warming

        names = warming.general_names()
        task = progress.add_task("kernels of all models", total=len(names))
        for name in names:
            warming.make_general(name)
            progress.advance(task)
        if self._model is not None:
            task = progress.add_task(visible_name(self._model), total=None)
            for _ in _calls(self._model, self._signature, self._sizes, self._shapes):
                progress.advance(task)


def visible_name(model: Path) -> str:
    """The name of a model in the progress bar, which reads brackets as markup."""
    from rich.markup import escape

    from pinnace.framework.visible_text import visible

    return escape(visible(str(model)))


def progress_bar() -> "Progress":
    """Bars on standard error, for as long as something is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    # What a program reads is on standard output; nothing is drawn where nobody looks.
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _calls(
    model: Path, wanted: list[str] | None, sizes: list[int], shapes: Mapping[str, list[int]]
) -> Iterator[int]:
    """Each call of each signature at each size, until nothing more is to be compiled."""
    from pinnace.engine.warming import settle
    from pinnace.saved_model.reading import load

    path, _ = find_model(model, (SAVED_MODEL,))
    loaded = load(path)
    signatures = loaded.signatures
    for name in wanted or ():
        if name not in signatures:
            raise unknown_name("signature", name, signatures, path)
    chosen = {name: signatures[name] for name in wanted or signatures}
    known = {name for function in chosen.values() for name in function.array_inputs}
    for name in shapes:
        if name not in known:
            raise unknown_name("input", name, known, path)
    random = np.random.default_rng(0)
    for name, function in chosen.items():
        for size in sizes:
            specs = {
                key: _filled(f"{path}, {name}", key, spec, size, shapes)
                for key, spec in function.array_inputs.items()
            }
            arrays = {key: random_input(spec, random) for key, spec in specs.items()}
            yield from settle(function.graph, partial(function.run_arrays, arrays))
            if all(spec.shape.is_fully_defined() for spec in function.array_inputs.values()):
                break  # other sizes are no others


def _filled(
    where: str, name: str, spec: TensorSpec, batch: int, shapes: Mapping[str, list[int]]
) -> TensorSpec:
    """The spec with all sizes known."""
    if name in shapes:
        found = Shape(shapes[name])
        if not spec.shape.is_compatible_with(found):
            raise InvalidArgumentError(
                f"--input {name}: the shape must be like {spec.shape}, got {found}"
            )
        return TensorSpec.of(found, spec.dtype)
    dims = spec.shape.dims
    if dims is None or any(size is None for size in dims[1:]):
        raise InvalidArgumentError(
            f"{where}: not all sizes of input {name!r}, {spec.text}, are known\n"
            f"  Try: --input {name}=SHAPE, such as {name}=1,128"
        )
    return TensorSpec.of(Shape([batch if size is None else size for size in dims]), spec.dtype)


def _shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.partition("=")
    if not name or "=" not in text:
        raise InvalidArgumentError(f"--input must be NAME=SHAPE, such as ids=8,128, got {text!r}")
    return name, [_size(f"--input {name}", one) for one in sizes.split(",") if one.strip()]


def _size(who: str, text: str) -> int:
    try:
        size = int(text)
    except ValueError:
        size = 0
    if size < 1:
        raise InvalidArgumentError(f"{who}: a size must be a whole number from 1 on, got {text!r}")
    return size


def _print(found: "list[Warmed]") -> None:
    terminal = Terminal()
    rows = [
        (
            one.name,
            one.error or ("compiled" if one.is_new else "was there"),
            time_text(one.seconds),
            size_text(one.bytes),
        )
        for one in found
    ]
    terminal.table(_COLUMNS, rows, right=(2, 3))
    made = [one for one in found if one.is_new and one.error is None]
    terminal.line(
        f"{len(made)} compiled in {time_text(sum(one.seconds for one in made))}, "
        f"{len(found) - len(made)} were there or failed"
    )
    if all(not one.is_new and one.error is None for one in found):
        terminal.line("The installation has them all: no warm-up is needed on this machine.")
