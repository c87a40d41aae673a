"""What a side of the zoo runs: a signature, a session of ONNX Runtime, or a training step."""

import importlib
import os
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import numpy as np

from asked import THREADS
from harness import Work
from zoo import store, training
from zoo.network import ROWS
from zoo.workloads import CHANGING, FIXED, TRAINING, Workload

# float32 sums in another order, relative to the largest number of the answer.
ATOL = 1e-4
# The first loss is the network's; then Adam divides by a gradient's size, and makes of what is next
# to nothing a step up or down.
FIRST_LOSS_RTOL, LOSS_RTOL = 1e-4, 1e-2

Call = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def make(library: str, workload: Workload) -> Work:
    """The workload by a library: `pinnace`, `tensorflow` or `onnxruntime`."""
    if library == "onnxruntime":
        call, constant = open_session(workload.network)
    elif workload.kind == TRAINING:
        return training_work(importlib.import_module(library), workload)
    else:
        tf = importlib.import_module(library)
        call, constant = open_signature(tf, workload.network), tf.constant
    return inference_work(call, constant, workload)


def open_signature(tf: Any, name: str) -> Call:
    """The signature of what TensorFlow wrote."""
    loaded = tf.saved_model.load(str(store.folder(name) / "model"))
    signature = loaded.signatures["serving_default"]
    names = list(signature.structured_input_signature[1])

    def call(given: Mapping[str, Any], *, kept: Any = loaded) -> Mapping[str, Any]:
        del kept  # a signature does not keep its variables alive
        if len(names) == 1:
            return signature(**{names[0]: next(iter(given.values()))})
        return signature(**given)

    return call


def open_session(name: str) -> tuple[Call, Callable[[np.ndarray], np.ndarray]]:
    """A session over what `pinnace export` made of the same folder."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(
        os.fspath(store.onnx_file(name)), options, providers=["CPUExecutionProvider"]
    )
    inputs = [given.name for given in session.get_inputs()]
    outputs = [found.name for found in session.get_outputs()]

    def call(given: Mapping[str, Any]) -> Mapping[str, Any]:
        feed = given if len(inputs) > 1 else {inputs[0]: next(iter(given.values()))}
        return dict(zip(outputs, session.run(None, feed), strict=True))

    return call, lambda x: x.astype(object) if x.dtype.kind == "U" else x


def inference_work(call: Call, constant: Callable[[np.ndarray], Any], workload: Workload) -> Work:
    """Calls with the first rows of what is stored, and a comparison with TensorFlow's answers."""
    network = store.network(workload.network)
    asked, wanted = (store.arrays(workload.network, file) for file in ("asked", "answers"))
    sizes = [workload.rows]
    if workload.special == CHANGING:
        sizes = np.random.default_rng(3).permutation(np.arange(1, ROWS + 1)).tolist()
    given = [{name: constant(x[:rows]) for name, x in asked.items()} for rows in sizes]
    turn = count()

    def run() -> Mapping[str, Any]:
        return call(given[next(turn) % len(given)])

    def check() -> None:
        for rows, ask in zip(sizes, given, strict=True):
            for name, found in call(ask).items():
                compare(name, np.asarray(found), wanted[name][:rows], network.rtol)

    return Work(run=run, check=check)


def compare(name: str, found: np.ndarray, wanted: np.ndarray, rtol: float) -> None:
    """AssertionError that says by how much an answer is off."""
    if wanted.dtype.kind == "f":
        atol = ATOL * float(np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, err_msg=name)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=name)


def training_work(tf: Any, workload: Workload) -> Work:
    """The first steps on one batch, whose losses are compared; then others, unless it is fixed."""
    network = store.network(workload.network)
    step, following = training.make_step(tf, network)
    first: list[float] = []

    def run() -> float:
        if len(first) < training.COMPARED:
            first.append(float(step()))
            return first[-1]
        return float(step() if workload.special == FIXED else following())

    def check() -> None:
        while len(first) < training.COMPARED:
            run()
        wanted = store.arrays(workload.network, "losses")["losses"]
        np.testing.assert_allclose(first[0], wanted[0], rtol=FIRST_LOSS_RTOL, err_msg="first loss")
        np.testing.assert_allclose(first, wanted, rtol=LOSS_RTOL, err_msg="losses")
        assert np.isfinite(run())

    return Work(run=run, check=check)
