"""What a side runs: a signature, a session of ONNX Runtime, or ydf's own engine."""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asked import THREADS
from harness import OURS, TENSORFLOW, Work
from networks import exported
from producers import store
from producers.workloads import FORESTS, ONNXRUNTIME, OTHER_BACKEND, WORDS, YDF, Workload

RTOL = 1e-3
Call = Callable[[], Any]


def make(side: str, workload: Workload) -> Work:
    """The workload on a side; its answers are compared with those of the library that wrote it."""
    asked = store.arrays(workload.kind, workload.model, "asked")
    wanted = store.arrays(workload.kind, workload.model, "answers")
    answer = wanted[_key(workload)][: workload.rows]
    given = {name: x[: workload.rows] for name, x in asked.items()}
    run = _OPENED[side](side, workload, given)

    def check() -> None:
        compare(np.asarray(run()).reshape(answer.shape), answer)

    return Work(run=run, check=check)


def compare(found: np.ndarray, wanted: np.ndarray) -> None:
    """Numbers to float32 sums in another order; words, all of them."""
    if wanted.dtype.kind == "f":
        atol = RTOL * float(np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=RTOL, atol=atol)
    else:
        np.testing.assert_array_equal(found, wanted)


def model_of(side: str, workload: Workload) -> Path:
    """The SavedModel that a side runs."""
    part = "other" if side == OTHER_BACKEND else "model"
    return store.folder(workload.kind, workload.model) / part


def signature_of(workload: Workload) -> str:
    """The name of the signature that is asked."""
    return f"words_{workload.per}" if workload.kind == WORDS else "serving_default"


def _key(workload: Workload) -> str:
    return signature_of(workload) if workload.kind == WORDS else "answer"


def _signature(side: str, workload: Workload, given: Mapping[str, Any]) -> Call:
    tf = importlib.import_module(TENSORFLOW if side == TENSORFLOW else OURS)
    if side == TENSORFLOW and workload.kind == FORESTS:
        importlib.import_module("ydf_tf")  # registers the ops
    loaded = tf.saved_model.load(str(model_of(side, workload)))
    serve = loaded.signatures[signature_of(workload)]
    names = list(serve.structured_input_signature[1])
    if len(names) == 1:
        given = {names[0]: next(iter(given.values()))}
    feeds = {name: tf.constant(given[name]) for name in names}

    def run(kept: Any = loaded) -> Any:
        del kept  # a signature does not keep its variables alive
        (found,) = serve(**feeds).values()
        return found

    return run


def _session(side: str, workload: Workload, given: Mapping[str, Any]) -> Call:
    onnxruntime = importlib.import_module(side)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    source = store.folder(workload.kind, workload.model)
    file = exported(source, signature_of(workload))
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    if len(names) == 1:
        given = {names[0]: next(iter(given.values()))}
    feeds = {name: given[name] for name in names}
    return lambda: session.run(None, feeds)[0]


def _own_engine(side: str, workload: Workload, given: Mapping[str, Any]) -> Call:
    """With the columns handed over, as the other sides have them."""
    ydf = importlib.import_module(side)
    ydf.verbose(0)
    model = ydf.load_model(str(store.folder(workload.kind, workload.model) / "forest"))
    columns = dict(given)
    return lambda: model.predict(columns, num_threads=THREADS)


_OPENED: dict[str, Callable[[str, Workload, Mapping[str, Any]], Call]] = {
    OURS: _signature,
    OTHER_BACKEND: _signature,
    TENSORFLOW: _signature,
    ONNXRUNTIME: _session,
    YDF: _own_engine,
}
