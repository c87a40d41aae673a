"""The values of `--inputs name=...`, a file, JSON, an expression or a string, as arrays."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.cli.expressions import evaluate
from pinnace.deploy.models.finding import unknown_name
from pinnace.deploy.models.pictures import PICTURES, SCALES, PictureScale, read_picture
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.storage.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

_TEXTS = frozenset({".txt", ".csv", ".tsv"})
_FILES = PICTURES | _TEXTS | {".npy", ".npz", ".json"}
_FILE = re.compile(r"(?P<path>.+?)(?:\[(?P<key>[^\[\]]*)\])?\Z", re.DOTALL)
_NAME = re.compile(r"[\w./:-]+")
_ANY_SIZE = frozenset({"?", "-1", "None"})
_SIZE = re.compile(r"\?|-1|None|[0-9]{1,9}", re.ASCII)
_RANDOM_SIZE = 2  # of an axis of variable size


def read_inputs(
    given: Iterable[str],
    wanted: Mapping[str, TensorSpec],
    where: object,
    *,
    scale: str = "255",
    seed: int = 0,
) -> dict[str, Array]:
    """Parse the values of `--inputs`, and return arrays by name.

    Args:
        given: `name=value`, several separated by `;`; for a single input the name may be omitted.
        wanted: the specs of the inputs.
        where: the model, for errors.
        scale: the scaling of images for float inputs, a key of `SCALES`.
        seed: the seed of random numbers in expressions.

    Raises:
        InvalidArgumentError: a name is unknown, or a value does not match the input.
        NotFoundError: a file does not exist.
    """
    if scale not in SCALES:
        raise InvalidArgumentError(
            f"--image-scale must be one of {', '.join(SCALES)}; got {scale!r}"
        )
    found: dict[str, Array] = {}
    for text in given:
        for part in _split(text):
            name, value = _named(part, wanted)
            if name not in wanted:
                raise unknown_name("input", name, wanted, where)
            if name in found:
                raise InvalidArgumentError(f"input {name!r} is given twice")
            spec = wanted[name]
            raw = _read(value, spec, SCALES[scale], seed)
            found[name] = fitted(raw, spec, name)
    return found


def given_names(given: Iterable[str]) -> list[str]:
    """The names in front of the values that `read_inputs` parses."""
    found = []
    for text in given:
        for part in _split(text):
            name, equals, _ = part.partition("=")
            if equals and _NAME.fullmatch(name.strip()):
                found.append(name.strip())
    return found


def names_of(text: str) -> list[str]:
    """Names separated by commas."""
    return [one.strip() for one in text.split(",") if one.strip()]


def shapes_of(given: Iterable[str]) -> dict[str, list[int | None]]:
    """Parse options `name=1,224,224,3`, and return shapes by input name.

    Raises:
        InvalidArgumentError: an option has another form.
    """
    found: dict[str, list[int | None]] = {}
    for text in given:
        name, equals, sizes = text.rpartition("=")
        listed = [one.strip() for one in sizes.strip().strip("[]()").split(",") if one.strip()]
        if not equals or not name.strip() or not all(_SIZE.fullmatch(one) for one in listed):
            raise InvalidArgumentError(
                f"--input must be NAME=SHAPE, got {_told(text)}\n"
                "  Try: --input image=?,224,224,3, where ? is any size; a scalar is NAME=[]"
            )
        if name.strip() in found:
            raise InvalidArgumentError(f"input {name.strip()!r} is given twice")
        found[name.strip()] = [None if one in _ANY_SIZE else int(one) for one in listed]
    return found


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an `.npz` file by name.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not an `.npz` file.
    """
    if not path.is_file():
        raise NotFoundError(f"there is no file {path}")
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            raise InvalidArgumentError(f"{path} is one array; a .npz file has them by name")
        with found:
            return {name: found[name] for name in found.files}
    except (ValueError, EOFError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"{path} is not a NumPy file: {error}") from None


def random_input(spec: TensorSpec, random: np.random.Generator) -> Array:
    """A random array of a spec; variable axes get size 1 in front, else size 2."""
    dims = (1,) if spec.shape.dims is None else spec.shape.dims
    shape = tuple(
        (1 if index == 0 else _RANDOM_SIZE) if size is None else size
        for index, size in enumerate(dims)
    )
    dtype = spec.dtype.numpy
    if spec.dtype is dtypes.string:
        return np.full(shape, b"text", object)
    if dtype == np.bool_:
        return np.asarray(random.integers(0, 2, shape)).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return np.asarray(random.integers(0, 2, shape)).astype(dtype)
    return np.asarray(random.random(shape)).astype(dtype)


def example_of(wanted: Mapping[str, TensorSpec]) -> str:
    """An example of `--inputs` with valid values."""
    parts = []
    for name, spec in wanted.items():
        sizes = [1 if size is None else size for size in spec.shape.dims or ()]
        if spec.dtype is dtypes.string:
            parts.append(f"--inputs '{name}={json.dumps(_nested('text', sizes))}'")
        else:
            parts.append(f"--inputs '{name}=np.zeros({tuple(sizes)})'")
    return " ".join(parts)


def fitted(value: Any, spec: TensorSpec, name: str) -> Array:
    """Convert a value to an array of a spec, if no digits are lost; may add an axis in front.

    Raises:
        InvalidArgumentError: the value does not match the spec.
    """
    array = _with_dtype(value, spec, name)
    dims = spec.shape.dims
    if dims is None or _fits(array.shape, dims):
        return array
    if len(dims) == array.ndim + 1 and dims[0] in (None, 1) and _fits(array.shape, dims[1:]):
        return array[None]
    advice = ""
    sizes = [size for size in dims if size is not None]
    if sizes and len(sizes) == len(dims) and array.size == math.prod(sizes):
        advice = f"\n  Try: .reshape({', '.join(map(str, sizes))})"
    raise InvalidArgumentError(
        f"input {name!r} has the shape {spec.shape.text}, got {list(array.shape)}{advice}"
    )


def _fits(shape: Sequence[int], dims: Sequence[int | None]) -> bool:
    return len(shape) == len(dims) and all(
        size is None or size == got for got, size in zip(shape, dims, strict=True)
    )


def _with_dtype(value: Any, spec: TensorSpec, name: str) -> Array:
    dtype = spec.dtype.numpy
    if spec.dtype is dtypes.string:
        return _strings(value, name)
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidArgumentError(f"input {name!r}: the rows differ in length") from None
    if array.dtype.kind in "OSU":
        raise InvalidArgumentError(
            f"input {name!r} is {spec.dtype.name}, got {_told(value)}\n"
            "  Try: a number, a list, an expression such as np.ones((1, 3)), or a file that exists"
        )
    if array.dtype == dtype:
        return array
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        is_same = bool(np.all((cast.astype(array.dtype) == array) | np.isnan(array)))
    # Floats are rounded; integers and floats are not converted into each other.
    if dtype.kind in "biu":
        is_same = is_same and bool(np.all(np.isfinite(array)))
    if not is_same and (dtype.kind in "biu" or (array.dtype.kind == "c" and dtype.kind != "c")):
        raise InvalidArgumentError(
            f"input {name!r} is {spec.dtype.name}, and the {array.dtype} given would lose digits"
        )
    return cast


def _strings(value: Any, name: str) -> Array:
    array = np.asarray(value, object) if not isinstance(value, np.ndarray) else value.astype(object)
    flat = [one.encode() if isinstance(one, str) else one for one in array.reshape(-1).tolist()]
    if not all(isinstance(one, bytes) for one in flat):
        raise InvalidArgumentError(f"input {name!r} is string, got {_told(value)}")
    result = np.empty(array.shape, object)
    result.reshape(-1)[:] = flat
    return result


def _told(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _nested(value: Any, sizes: Sequence[int]) -> Any:
    for size in reversed(sizes):
        value = [value] * size
    return value


# Parsing.


def _split(text: str) -> list[str]:
    """Split at semicolons outside quotes and brackets."""
    parts, depth, quote, start = [], 0, "", 0
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == ";" and depth <= 0 and "=" in text[position:]:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _named(part: str, wanted: Mapping[str, TensorSpec]) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    if equals and (name.strip() in wanted or _NAME.fullmatch(name.strip())):
        return name.strip(), value.strip()
    if len(wanted) == 1:
        return next(iter(wanted)), part
    raise InvalidArgumentError(
        f"--inputs must be NAME=VALUE, got {_told(part)}; the inputs are: {', '.join(wanted)}"
    )


def _read(text: str, spec: TensorSpec, scale: PictureScale, seed: int) -> Any:
    match = _FILE.match(text)
    path = Path(match["path"]) if match is not None else Path(text)
    key = match["key"] if match is not None else None
    suffix = path.suffix.lower()
    if suffix in _FILES and "(" not in text and "\n" not in text:
        if not path.is_file():
            raise NotFoundError(f"there is no file {path}")
        return _read_file(path, key, suffix, spec, scale)
    if spec.dtype is dtypes.string and text[:1] not in ("[", '"', "'"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return evaluate(text, seed)


def _read_file(
    path: Path, key: str | None, suffix: str, spec: TensorSpec, scale: PictureScale
) -> Any:
    if suffix in (".npy", ".npz"):
        return _read_numpy(path, key)
    if key is not None:
        raise InvalidArgumentError(f"{path} has no parts; [{key}] is for .npz files")
    with open_regular(path) as file:
        data = file.read()
    if suffix in PICTURES:
        is_string = spec.dtype is dtypes.string
        return np.array(data, object) if is_string else read_picture(path, data, spec, scale)
    try:
        text = data.decode()
        if suffix == ".json":
            return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{path} cannot be read: {error}") from None
    if spec.dtype is dtypes.string:
        is_one = spec.shape.dims is not None and len(spec.shape.dims) == 0
        return text if is_one else text.splitlines()
    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix)
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, dtype=np.float64)
    except ValueError as error:
        raise InvalidArgumentError(f"{path} is not a table of numbers: {error}") from None


def _read_numpy(path: Path, key: str | None) -> Any:
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            if key:
                raise InvalidArgumentError(f"{path} is one array; [{key}] is for .npz files")
            return found
        with found:
            names = found.files
            if key is None and len(names) == 1:
                key = names[0]
            if key is None or key not in names:
                raise unknown_name("array", key or "", names, path)
            return found[key]
    except (ValueError, EOFError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"{path} is not a NumPy file: {error}") from None
