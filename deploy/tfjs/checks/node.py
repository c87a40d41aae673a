"""TensorFlow.js in Node: finding it, and running a model in it."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pinnace.deploy.tfjs.graph.lowering import THERE
from pinnace.framework.dtypes import from_numpy
from pinnace.framework.errors import DeadlineExceededError, InternalError, NotFoundError
from pinnace.framework.tensor import Array

PACKAGE = "@tensorflow/tfjs"
WASM_PACKAGE = "@tensorflow/tfjs-backend-wasm"
NO_SIZE = "a size is NaN in the shape"
_START_S = 60.0  # the start of Node and its modules on a busy machine


@dataclass(frozen=True, slots=True)
class NodeRuntime:
    """Node with the TensorFlow.js packages.

    Attributes:
        node: the program's path.
        modules: the `node_modules` folder.
        backends: the backends that are installed.
    """

    node: str
    modules: Path
    backends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """The results of a backend's runs.

    Attributes:
        results: the outputs of each run by name; for a failed run, the reason.
        version: the version of TensorFlow.js.
        lacking: the op that the backend has no kernel for, if that is why there are no results.
    """

    results: Sequence[Mapping[str, Array] | str]
    version: str = ""
    lacking: str = ""


def find_runtime(given: str | os.PathLike[str] | None) -> NodeRuntime | None:
    """Node with TensorFlow.js; None if one of them is not installed.

    Args:
        given: a `node_modules` folder, or the folder that contains it; None searches for
            `node_modules` in the current folder and those above it.

    Raises:
        NotFoundError: a folder was given, and TensorFlow.js or Node is not installed.
    """
    node = shutil.which("node")
    starts = [Path(given)] if given is not None else [Path.cwd(), *Path.cwd().parents]
    for modules in (place for start in starts for place in _places(start)):
        if node is not None and (modules / PACKAGE / "package.json").is_file():
            has_wasm = (modules / WASM_PACKAGE / "package.json").is_file()
            return NodeRuntime(node, modules.resolve(), ("cpu", "wasm") if has_wasm else ("cpu",))
    if given is None:
        return None
    missing = PACKAGE if node is not None else "Node"
    raise NotFoundError(
        f"export: {missing} was not found in {os.fspath(given)!r}"
        f"\n  Try: npm install {PACKAGE} {WASM_PACKAGE}"
    )


def _places(start: Path) -> Iterator[Path]:
    yield start
    yield start / "node_modules"


def run_in_node(
    runtime: NodeRuntime,
    backend: str,
    folder: Path,
    feeds: Sequence[Mapping[str, Array]],
    *,
    kind: str = "graph",
    limit_s: float = 60.0,
) -> Ran:
    """Run a model.

    Args:
        runtime: Node with TensorFlow.js.
        backend: "cpu" or "wasm".
        folder: the model's folder.
        feeds: inputs by name, for each run.
        kind: "graph" or "layers".
        limit_s: the time limit of one run, in seconds.

    Raises:
        DeadlineExceededError: a run took longer.
        InternalError: TensorFlow.js does not load the model, or fails.
    """
    with ExitStack() as stack:
        cases = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pinnace-")))
        write_feeds(cases, feeds)
        package = resources.files("pinnace.deploy.tfjs.checks")
        program = stack.enter_context(resources.as_file(package / "check.mjs"))
        command: list[str | Path] = [
            runtime.node,
            program,
            kind,
            backend,
            folder,
            runtime.modules,
            cases,
        ]
        try:
            done = subprocess.run(
                [os.fspath(one) for one in command],
                capture_output=True,
                timeout=_START_S + limit_s * max(len(feeds), 1),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise DeadlineExceededError(
                f"export: TensorFlow.js ({backend}) did not finish within {error.timeout:g} s\n"
                "  Try: a smaller sample, a larger verify_timeout_s, or verify=False"
            ) from error
        if not (cases / "outputs.json").is_file():
            tail = done.stderr.decode(errors="replace").strip()[-400:]
            raise InternalError(f"export: Node ended without an answer: {tail}")
        return read_answer(cases, backend)


def read_answer(folder: Path, backend: str) -> Ran:
    """Read the answer that `check.mjs` wrote.

    Raises:
        InternalError: TensorFlow.js does not load the model.
    """
    found = json.loads((folder / "outputs.json").read_text())
    errors = [found["error"]] if not found["ok"] else []
    errors += [one["error"] for one in found.get("results", ()) if isinstance(one, dict)]
    for error in errors:
        lacking = _lacking(error, backend)
        if lacking:
            return Ran((), lacking=lacking)
    if not found["ok"]:
        raise InternalError(
            f"export: TensorFlow.js ({backend}) does not run the model: {found['error']}"
        )
    content = (folder / "outputs.bin").read_bytes()
    return Ran([_result(outputs, content) for outputs in found["results"]], found["version"])


def _result(outputs: Any, content: bytes) -> Mapping[str, Array] | str:
    """The outputs of a run by name, or the reason why there are none."""
    if isinstance(outputs, dict):
        return str(outputs["error"])
    for tensor in outputs:
        # Some kernels compute sizes from NaN without an error.
        if None in tensor["shape"]:
            return f"{NO_SIZE} of {tensor['name']!r}"
    return {tensor["name"]: _array(tensor, content) for tensor in outputs}


def _lacking(error: str, backend: str) -> str:
    """The op that a backend has no kernel for; "" for other errors."""
    if "not registered for the backend" in error or "not registered for backend" in error:
        return error.split("'")[1] if "'" in error else error
    if backend != "cpu" and ("not yet implemented" in error or "not supported" in error):
        return error
    if backend != "cpu" and "is not supported by" in error:
        return error
    return ""


def write_feeds(folder: Path, feeds: Sequence[Mapping[str, Array]]) -> None:
    """Write the inputs of each run by name, in the form that `check.mjs` reads."""
    described: list[list[dict[str, Any]]] = []
    with (folder / "inputs.bin").open("wb") as file:
        for arrays in feeds:
            tensors = []
            for name, array in arrays.items():
                there = THERE[from_numpy(array.dtype)]
                tensor: dict[str, Any] = {
                    "name": name,
                    "dtype": there.name,
                    "shape": list(array.shape),
                }
                if there.name == "string":
                    tensor["data"] = [_text(one) for one in array.reshape(-1).tolist()]
                else:
                    content = np.ascontiguousarray(array, there.numpy).tobytes()
                    file.write(b"\0" * (-file.tell() % 8))
                    tensor |= {"offset": file.tell(), "bytes": len(content)}
                    file.write(content)
                tensors.append(tensor)
            described.append(tensors)
    (folder / "inputs.json").write_text(json.dumps(described))


def _text(one: object) -> str:
    return one.decode() if isinstance(one, bytes) else str(one)


def _array(tensor: Mapping[str, Any], content: bytes) -> Array:
    shape = tuple(tensor["shape"])
    if tensor["dtype"] == "string":
        texts = np.empty(len(tensor["data"]), object)
        texts[:] = [base64.b64decode(one) for one in tensor["data"]]
        return texts.reshape(shape)
    dtype = np.dtype(np.uint8 if tensor["dtype"] == "bool" else tensor["dtype"])
    piece = content[tensor["offset"] : tensor["offset"] + tensor["bytes"]]
    found = np.frombuffer(piece, dtype).reshape(shape)
    return found.astype(bool) if tensor["dtype"] == "bool" else found
