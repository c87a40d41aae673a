"""ONNX Runtime in place of the project's own kernels: ONNX files, and SavedModels exported to ONNX.

A SavedModel's signature runs on ONNX Runtime only after its export was verified, and its answers
to the warm-up requests were compared with the project's own kernels. Signatures that cannot be
exported stay on those kernels, and the log says why.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
)
from pinnace.framework.extras import install_command
from pinnace.framework.specs import TensorSpec
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.servable import Servable
from pinnace.serving.models.warmup import example_feeds, zeros
from pinnace.serving.running.batching import agree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.framework.dtypes import DType
    from pinnace.serving.running.signatures import Array, Arrays, Runnable

OWN = "pinnace"
ONNXRUNTIME = "onnxruntime"
PLATFORM = "onnxruntime_onnx"
_MOST_EXAMPLES = 64  # warm-up requests that both engines answer for comparison

_DTYPES: Mapping[str, DType] = {
    "tensor(float)": dtypes.float32,
    "tensor(double)": dtypes.float64,
    "tensor(float16)": dtypes.float16,
    "tensor(int8)": dtypes.int8,
    "tensor(int16)": dtypes.int16,
    "tensor(int32)": dtypes.int32,
    "tensor(int64)": dtypes.int64,
    "tensor(uint8)": dtypes.uint8,
    "tensor(uint16)": dtypes.uint16,
    "tensor(uint32)": dtypes.uint32,
    "tensor(uint64)": dtypes.uint64,
    "tensor(bool)": dtypes.bool,
    "tensor(string)": dtypes.string,
}


class OnnxSignature:
    """An ONNX file as a signature. Many threads may run it at once.

    Args:
        path: the file.

    Raises:
        FailedPreconditionError: ONNX Runtime is not installed.
        InvalidArgumentError: ONNX Runtime does not load the file, or an input or output is not a
            tensor.
    """

    has_loops = False
    is_pure = True  # no request can observe the state that ONNX Runtime keeps

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime  # late: an extra of 40 MB
        except ImportError:
            raise FailedPreconditionError(
                f"ONNX models need ONNX Runtime\n  Try: {install_command('onnx')}"
            ) from None
        options = onnxruntime.SessionOptions()
        # Requests run side by side, so that threads within one would take cores from others.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's classes have no common base
            raise InvalidArgumentError(f"{path}: ONNX Runtime: {one_line(error)}") from None
        self.inputs = {value.name: _spec(value, path) for value in self._session.get_inputs()}
        self.outputs = {value.name: _spec(value, path) for value in self._session.get_outputs()}
        self._names = list(self.outputs)

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """Return the outputs for these inputs."""
        given = {name: _to_text(array) for name, array in feeds.items()}
        found = self._session.run(self._names, given)
        return {name: _to_bytes(array) for name, array in zip(self._names, found, strict=True)}


def load_onnx(path: Path) -> LoadedModel:
    """Load an ONNX file as a model with one signature.

    Args:
        path: the file.

    Raises:
        OpError: the file cannot be loaded; the message says why.
    """
    signature = OnnxSignature(path)
    return LoadedModel({"serving_default": signature}, owner=signature, platform=PLATFORM)


def through_onnx(name: str, model: LoadedModel, path: Path) -> LoadedModel:
    """Return a loaded SavedModel whose signatures run on ONNX Runtime.

    Args:
        name: the model's name, for the log.
        model: the model on the project's own kernels.
        path: the model's folder, for the warm-up requests.

    Raises:
        FailedPreconditionError: no signature can be exported, or ONNX Runtime is not installed.
        InvalidArgumentError: a warm-up request cannot be parsed.
    """
    signatures: dict[str, Runnable] = {}
    reasons: dict[str, str] = {}
    examples = example_feeds(Servable(name, 0, model), path, _MOST_EXAMPLES)
    with tempfile.TemporaryDirectory(prefix="pinnace-onnx-") as folder:
        for key, signature in model.signatures.items():
            try:
                exported = _exported(model, key, signature, Path(folder))
                _compare(exported, signature, examples.get(key, []))
            except ImportError:
                raise FailedPreconditionError(
                    "--engine onnxruntime needs onnx and onnxruntime\n"
                    f"  Try: {install_command('onnx')}"
                ) from None
            except OpError as error:
                reasons[key] = one_line(error)
            else:
                signatures[key] = exported
    if not signatures:
        described = "; ".join(f"{key}: {reason}" for key, reason in reasons.items())
        raise FailedPreconditionError(f"no signature can run on ONNX Runtime: {described}")
    for key, reason in reasons.items():
        LOG.warning("model '%s': signature '%s' stays on pinnace: %s", name, key, reason)
    return replace(model, signatures={**model.signatures, **signatures})


def _exported(model: LoadedModel, key: str, signature: Runnable, folder: Path) -> Runnable:
    from pinnace.deploy.onnx import export

    if not signature.is_pure:
        raise FailedPreconditionError("it has effects")
    path = folder / f"{len(list(folder.iterdir()))}.onnx"
    report = export(model.owner, path, signature=key)
    return _Renamed(OnnxSignature(path), signature, report.output_names)


def _compare(exported: Runnable, signature: Runnable, examples: Iterable[Arrays]) -> None:
    """Check that both give the same results for the model's warm-up requests, and for zeros.

    Raises:
        InternalError: the results differ.
    """
    nothing = zeros(signature)
    for feeds in (*([nothing] if nothing is not None else []), *examples):
        expected = signature.run_arrays(feeds)
        try:
            found = exported.run_arrays(feeds)
        except Exception as error:  # ONNX Runtime's classes have no common base
            raise InternalError(f"ONNX Runtime fails where pinnace does not: {error}") from None
        if not agree(found, expected):
            raise InternalError("ONNX Runtime's outputs differ from pinnace's")


class _Renamed:
    """An ONNX Runtime signature with the names and specs of the signature that it replaces.

    Args:
        runtime: the ONNX Runtime signature.
        signature: the signature that it replaces.
        names: output name in the signature → in the file, where they differ.
    """

    has_loops = False
    is_pure = True

    def __init__(
        self, runtime: OnnxSignature, signature: Runnable, names: Mapping[str, str]
    ) -> None:
        self.inputs = signature.inputs
        self.outputs = signature.outputs
        self._runtime = runtime
        self._names = {name: names.get(name, name) for name in signature.outputs}

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """Return the outputs for these inputs."""
        found = self._runtime.run_arrays(feeds)
        return {name: found[there] for name, there in self._names.items()}


def _spec(value: Any, path: Path) -> TensorSpec:
    dtype = _DTYPES.get(value.type)
    if dtype is None:
        raise InvalidArgumentError(
            f"{path}: '{value.name}' is a {value.type}; only tensors of numbers, bools and text "
            "can be served"
        )
    shape = [size if isinstance(size, int) else None for size in value.shape]
    return TensorSpec(shape, dtype, name=value.name)


def _to_text(array: Array) -> Array:
    if array.dtype != object:
        return array
    items = [item.decode() if isinstance(item, bytes) else str(item) for item in array.flat]
    return np.array(items, dtype=object).reshape(array.shape)


def _to_bytes(array: Array) -> Array:
    if array.dtype != object and array.dtype.kind not in "US":
        return array
    found = np.empty(array.size, dtype=object)
    found[:] = [item.encode() if isinstance(item, str) else bytes(item) for item in array.flat]
    return found.reshape(array.shape)
