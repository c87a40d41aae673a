"""File ops: ReadFile, WriteFile, MatchingFiles."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.asset_path import AssetPath
from pinnace.framework.shapes import Shape
from pinnace.ops import gate
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall
from pinnace.ops.registry import define, scalar
from pinnace.storage import atomic
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["matching_files", "read_file", "write_file"]


def _check_scalars(call: InferCall) -> None:
    for index, arg in enumerate(call.op.inputs):
        if call.spec(index).shape.rank not in {0, None}:
            call.fail(f"{arg.name} must be a scalar")


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """The bytes of a file.

    Args:
        filename: [], string.
        name: name of the node while tracing.

    Returns:
        [], string.

    Raises:
        NotFoundError: there is no such file.
    """
    return execute_one(READ_FILE, filename, name=name)


def _read_kernel(filename: Array) -> Array:
    path = text(filename)
    out = np.empty((), object)
    with explained("read", path):
        out[()] = Path(path).read_bytes()
    return out


def _read_own_kernel(filename: Array) -> Array:
    # In a loaded model, only the model's own assets have paths of this type.
    if not isinstance(string_of(filename), AssetPath):
        gate.refuse("ReadFile", "files other than its own assets")
    path = text(filename)
    out = np.empty((), object)
    with explained("read", path), open_regular(path) as file:
        out[()] = file.read()
    return out


def _infer_read(call: InferCall) -> Shape:
    _check_scalars(call)
    return scalar(call)


# TensorFlow does not call reading stateful; here it must not be folded into a graph while tracing.
READ_FILE = define(
    name="ReadFile",
    signature="filename: string -> contents: string",
    infer=_infer_read,
    kernel=_read_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
    guarded=_read_own_kernel,
)


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> None:
    """Write `contents` atomically; the file's folder is created if it is missing.

    Args:
        filename: [], string.
        contents: [], string.
        name: name of the node while tracing.
    """
    execute(WRITE_FILE, filename, contents, name=name)


def _write_kernel(filename: Array, contents: Array) -> None:
    path = Path(text(filename))
    with explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_file(path, string_of(contents))


def _infer_write(call: InferCall) -> tuple[Shape, ...]:
    _check_scalars(call)
    return ()


WRITE_FILE = define(
    name="WriteFile",
    signature="filename: string, contents: string ->",
    infer=_infer_write,
    kernel=_write_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """The names of the files that match, sorted.

    Args:
        pattern: [] or [n], string, with `*`, `?` and `[...]`.
        name: name of the node while tracing.

    Returns:
        [?], string.
    """
    return execute_one(MATCHING_FILES, pattern, name=name)


def _matching_kernel(pattern: Array) -> Array:
    found: set[str] = set()
    for one in np.asarray(pattern, object).ravel():
        found.update(glob.glob(one.decode("utf-8", "surrogateescape")))  # noqa: PTH207 (patterns may be absolute)
    out = np.empty(len(found), object)
    out[:] = [path.encode("utf-8", "surrogateescape") for path in sorted(found)]
    return out


def _infer_matching(call: InferCall) -> Shape:
    if (call.spec(0).shape.rank or 0) > 1:
        call.fail("pattern must be a scalar or a vector")
    return Shape((None,))


MATCHING_FILES = define(
    name="MatchingFiles",
    signature="pattern: string -> filenames: string",
    infer=_infer_matching,
    kernel=_matching_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
    reaches="files",
)


def string_of(array: Any) -> bytes:
    """The bytes in a scalar array."""
    found: Any = np.asarray(array, object)[()]
    return found  # type: ignore[no-any-return]


def text(array: Array) -> str:
    """The string in a scalar array."""
    return string_of(array).decode("utf-8", "surrogateescape")
