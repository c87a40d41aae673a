"""A folder with a self-contained page that runs the model in the browser."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pinnace.deploy.onnx.verification.checking import str_of
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.storage.atomic import write_file

PACKAGE = "onnxruntime-web"
# Of its `dist`: the module, and the WebAssembly build that it loads.
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
_OWN = ("tensors.js", "page.js", "page.css", "index.html")  # the page last: then all is there
_LIMIT = 1_500_000_000  # bytes; WebAssembly has 4 GB for the file, the weights and the values
_LARGEST_CASE = 2_000_000  # values of a recorded case
_NO_JAVASCRIPT = (dtypes.bfloat16, dtypes.complex64, dtypes.complex128)


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of a page.

    Attributes:
        title: of it.
        about: a line below it.
        model: bytes of the ONNX file.
        inputs: name -> spec.
        outputs: name -> spec.
        cases: inputs by name, and the outputs that pinnace gives.
        tolerance: how far outputs may be from these, relative to their largest value.
    """

    title: str
    about: str
    model: bytes
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    cases: Sequence[tuple[Mapping[str, Array], Mapping[str, Array]]]
    tolerance: float


def find_runtime(given: str | os.PathLike[str] | None) -> Path:
    """The folder with onnxruntime-web's files.

    Args:
        given: that folder, the npm package, or the folder with its `node_modules`; None looks for
            `node_modules` in this folder and those above it.

    Raises:
        NotFoundError: it is not there.
    """
    starts = [Path(given)] if given is not None else [Path.cwd(), *Path.cwd().parents]
    for start in starts:
        for folder in _places(start):
            if all((folder / name).is_file() for name in RUNTIME):
                return folder
    where = "here or above" if given is None else f"in {os.fspath(given)!r}"
    raise NotFoundError(
        f"export: {PACKAGE} is not {where}; a page needs its files {', '.join(RUNTIME)}"
        f"\n  Try: npm install {PACKAGE}, or say where it is: --web-runtime FOLDER"
    )


def _places(start: Path) -> Iterator[Path]:
    yield start
    yield start / "dist"
    yield start / PACKAGE / "dist"
    yield start / "node_modules" / PACKAGE / "dist"


def check_page(inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec]) -> None:
    """Refuse dtypes that onnxruntime-web has no tensors for.

    Raises:
        UnimplementedError: an input or output has one.
    """
    for role, specs in (("input", inputs), ("output", outputs)):
        for name, spec in specs.items():
            if spec.dtype in _NO_JAVASCRIPT:
                raise UnimplementedError(
                    f"export: {role} {name!r} is {spec.dtype.name}, which JavaScript has no "
                    "tensors of; a page cannot run it\n  Try: cast it to float32 in the signature"
                )


def write_page(folder: str | os.PathLike[str], page: Page, runtime: Path) -> Path:
    """Write the page; other files of the folder stay.

    Args:
        folder: is made if it is not there.
        page: what it shows.
        runtime: folder with onnxruntime-web's files.

    Returns:
        The folder.

    Raises:
        InvalidArgumentError: `folder` is a file, or the model is too large for WebAssembly.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InvalidArgumentError(
            f"export: the page needs a folder, {os.fspath(folder)!r} is a file"
        )
    if len(page.model) > _LIMIT:
        raise InvalidArgumentError(
            f"export: a browser holds models of up to {_LIMIT / 1e9:.1f} GB, this one has "
            f"{len(page.model) / 1e9:.1f} GB\n  Try: --int8 or --float16"
        )
    (target / "ort").mkdir(parents=True, exist_ok=True)
    for name in RUNTIME:
        write_file(target / "ort" / name, (runtime / name).read_bytes())
    for name in ("LICENSE", "ThirdPartyNotices.txt"):
        notice = runtime.parent / name
        if notice.is_file():
            write_file(target / "ort" / name, notice.read_bytes())
    write_file(target / "model.onnx", page.model)
    write_file(target / "model.json", json.dumps(_description(page)).encode())
    own = resources.files("pinnace.deploy.onnx.derived") / "page"
    for name in _OWN:
        write_file(target / name, (own / name).read_bytes())
    return target


def _description(page: Page) -> dict[str, Any]:
    small = [
        case
        for case in page.cases
        if sum(array.size for side in case for array in side.values()) <= _LARGEST_CASE
    ]
    return {
        "title": page.title,
        "about": page.about,
        "model": "model.onnx",
        "inputs": [_entry(name, spec) for name, spec in page.inputs.items()],
        "outputs": [_entry(name, spec) for name, spec in page.outputs.items()],
        "tolerance": page.tolerance,
        "cases": [
            {"inputs": _tensors(inputs), "outputs": _tensors(outputs)} for inputs, outputs in small
        ],
    }


def _entry(name: str, spec: TensorSpec) -> dict[str, Any]:
    return {"name": name, "dtype": spec.dtype.name, "shape": list(spec.shape)}


def _tensors(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: tensor_json(array) for name, array in arrays.items()}


def tensor_json(array: Array) -> dict[str, Any]:
    """A tensor as the page's tensors.js reads it."""
    array = np.asarray(array)
    shape = list(array.shape)
    flat = array.reshape(-1)
    if array.dtype.kind in "OSU":
        return {"dtype": "string", "shape": shape, "data": [str_of(text) for text in flat]}
    data: list[Any] = flat.tolist()
    if array.dtype.name in ("int64", "uint64"):
        data = [str(value) for value in data]
    elif array.dtype.kind == "b":
        data = [int(value) for value in data]
    elif array.dtype.kind == "f":
        data = [value if math.isfinite(value) else _word(value) for value in data]
    return {"dtype": array.dtype.name, "shape": shape, "data": data}


def _word(value: float) -> str:
    """In JavaScript's notation."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
