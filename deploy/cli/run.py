"""`pinnace run`: a model on inputs from the command line."""

# No `from __future__ import annotations`: typer reads the annotations.
import statistics
import time
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pinnace.deploy.cli.inputs import example_of, given_names, names_of, random_input, read_inputs
from pinnace.deploy.cli.terminal import Terminal, print_json, time_text
from pinnace.deploy.models.finding import unknown_name
from pinnace.deploy.models.runners import Runner, load_runner
from pinnace.framework.errors import AlreadyExistsError, InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_SHOWN = 200  # the largest output that is printed in full
_REPEATS = 30
_MOST_S = 10.0
# Seconds of runs before a profile.
_SETTLE_S = 3.0


def run(
    model: Annotated[
        Path,
        typer.Argument(
            help="A SavedModel's folder, or a .onnx, .keras, .h5, .tflite, jax.export or frozen "
            ".pb file.",
            show_default=False,
        ),
    ],
    signature: Annotated[
        str | None,
        typer.Option(
            "--signature",
            "--signature_def",
            help="Which signature; serving_default or the only one.",
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE: a file (.npy, .npz[key], .png, .jpg, .txt, .csv, .json), JSON, or an "
            "expression such as np.ones((1, 3)). May be repeated. Of a frozen graph any tensor.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            help="Only these outputs, comma-separated; of a frozen graph any tensors.",
            metavar="NAMES",
        ),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write each output there as NAME.npy.", metavar="DIR")
    ] = None,
    output_npz: Annotated[
        Path | None, typer.Option(help="Write all outputs into one file.", metavar="FILE")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace files that are there.")] = False,
    fill: Annotated[
        bool, typer.Option("--random", help="Inputs that are left out get random values.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of random values.")] = 0,
    image_scale: Annotated[
        str,
        typer.Option(
            help="Values of a picture for an input of floats: 255 is 0..255, 1 is 0..1, -1 is "
            "-1..1."
        ),
    ] = "255",
    timed: Annotated[
        bool, typer.Option("--time", help="How long loading, the first and later runs take.")
    ] = False,
    profiled: Annotated[
        bool,
        typer.Option("--profile", help="Print where the time of a later run goes, step by step."),
    ] = False,
    profile_to: Annotated[
        Path | None,
        typer.Option(
            help="Write that as a trace: a .json or .json.gz for Chrome's viewer, else a log "
            "folder of TensorBoard. Implies --profile.",
            metavar="PATH",
        ),
    ] = None,
    tags: Annotated[
        str | None,
        typer.Option("--tags", "--tag_set", help="Tag set, comma-separated.", metavar="TAGS"),
    ] = None,
    allow_io: Annotated[
        bool, typer.Option(help="Let the model's ops reach files: only if you trust it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outputs as JSON.")] = False,
) -> None:
    """Run a signature of MODEL once, and print its outputs."""
    begun = time.perf_counter()
    runner = load_runner(
        model,
        signature,
        tags.split(",") if tags else None,
        allow_io=allow_io,
        given=given_names(inputs or []),
        wanted=None if outputs is None else names_of(outputs),
    )
    loaded = time.perf_counter() - begun
    chosen = _chosen(runner, outputs)
    arrays = gathered_inputs(runner, inputs or [], seed, image_scale, fill=fill)
    begun = time.perf_counter()
    found = runner.run(arrays)
    first = time.perf_counter() - begun
    results = {name: np.asarray(found[name]) for name in chosen}
    written = _write(results, output_dir, output_npz, overwrite=overwrite)
    times = {"load_s": loaded, "first_s": first}
    if timed:
        times["median_s"] = _median(runner, arrays)
    if as_json and (profiled or profile_to is not None):
        raise InvalidArgumentError("--profile prints a table, --json outputs: take one of them")
    if as_json:
        value: dict[str, Any] = {name: _plain(one) for name, one in results.items()}
        print_json({"outputs": value, "times": times} if timed else value)
        return
    terminal = Terminal()
    if profiled or profile_to is not None:
        written += _profile(runner, arrays, profile_to)
    for name, array in results.items():
        _print_output(terminal, name, array)
    for path in written:
        terminal.line(f"wrote {path}")
    if timed:
        terminal.line(
            f"load {time_text(loaded)}, first run {time_text(first)}, "
            f"median of later runs {time_text(times['median_s'])}"
        )


def _chosen(runner: Runner, outputs: str | None) -> list[str]:
    if outputs is None:
        return list(runner.outputs)
    names = names_of(outputs)
    for name in names:
        if name not in runner.outputs:
            raise unknown_name("output", name, runner.outputs, runner.path)
    return names


def gathered_inputs(
    runner: Runner, given: list[str], seed: int, scale: str, *, fill: bool
) -> dict[str, "Array"]:
    """The array of each input of a signature.

    Raises:
        InvalidArgumentError: an input is missing, and `fill` is false.
    """
    arrays = read_inputs(given, runner.inputs, runner.path, scale=scale, seed=seed)
    missing = {name: spec for name, spec in runner.inputs.items() if name not in arrays}
    if missing and not fill:
        listed = ", ".join(f"{name} {spec.text}" for name, spec in missing.items())
        raise InvalidArgumentError(
            f"{runner.path}: no value for {listed}\n  Try: {example_of(missing)}, or --random"
        )
    random = np.random.default_rng(seed)
    arrays.update((name, random_input(spec, random)) for name, spec in missing.items())
    return arrays


def _median(runner: Runner, arrays: Mapping[str, "Array"]) -> float:
    """The median seconds of later runs."""
    times: list[float] = []
    while len(times) < _REPEATS and (not times or sum(times) < _MOST_S):
        begun = time.perf_counter()
        runner.run(arrays)
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _profile(runner: Runner, arrays: Mapping[str, "Array"], path: Path | None) -> list[Path]:
    """Print the profile of a run; return the files written for it."""
    from pinnace.profiler import profile

    _settle(runner, arrays)
    found = profile(runner.run, arrays)
    typer.echo(found.table() + "\n")
    return [] if path is None else found.save(path)


def _settle(runner: Runner, arrays: Mapping[str, "Array"]) -> None:
    """Run for some seconds, until functions are compiled."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < _SETTLE_S:
        runner.run(arrays)


def _print_output(terminal: Terminal, name: str, array: "Array") -> None:
    kind = "string" if array.dtype == object else str(array.dtype)
    facts = ""
    if array.size > _SHOWN and array.dtype.kind in "biuf":
        wide = array.astype(np.float64)
        facts = f"  from {wide.min():.6g} to {wide.max():.6g}, mean {wide.mean():.6g}"
    terminal.heading(name, f"{kind}{list(array.shape)}{facts}")
    if array.ndim == 0:
        terminal.line(str(array[()]))
        return
    text = np.array2string(
        array, threshold=_SHOWN, precision=6, suppress_small=True, separator=", "
    )
    for line in text.split("\n"):  # strings in it are quoted as by Python's repr
        terminal.line(line)


def _plain(array: "Array") -> Any:
    if array.dtype == object:
        flat = [
            one.decode(errors="backslashreplace") if isinstance(one, bytes) else one
            for one in array.reshape(-1).tolist()
        ]
        result = np.empty(array.size, object)
        result[:] = flat
        return result.reshape(array.shape).tolist()
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], -1).tolist()
    return array.astype(np.float64).tolist() if array.dtype.kind == "V" else array.tolist()


def _write(
    results: Mapping[str, "Array"], folder: Path | None, archive: Path | None, *, overwrite: bool
) -> list[Path]:
    from pinnace.storage.atomic import write_file

    paths = {name: folder / f"{_file_name(name)}.npy" for name in results} if folder else {}
    taken = [one for one in (*paths.values(), archive) if one is not None and one.exists()]
    if taken and not overwrite:
        raise AlreadyExistsError(f"{taken[0]} exists\n  Try: --overwrite")
    stored = {name: _stored(array) for name, array in results.items()}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in paths.items():
            write_file(path, partial(_save, array=stored[name]))
    if archive is not None:
        archive.parent.mkdir(parents=True, exist_ok=True)
        write_file(archive, partial(_save_all, arrays=stored))
        return [*paths.values(), archive]
    return list(paths.values())


def _save(file: Any, array: "Array") -> None:
    np.save(file, array, allow_pickle=False)


def _save_all(file: Any, arrays: "Mapping[str, Array]") -> None:
    # `savez(file, **arrays)` would fail for an output that is called `file`.
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                _save(part, array)


def _stored(array: "Array") -> "Array":
    """Strings as NumPy's own type, for files without pickle."""
    if array.dtype != object:
        return array
    flat = [one if isinstance(one, bytes) else str(one).encode() for one in array.reshape(-1)]
    return np.array(flat, "S").reshape(array.shape)


def _file_name(name: str) -> str:
    return "".join(one if one.isalnum() or one in "._-" else "_" for one in name) or "output"
