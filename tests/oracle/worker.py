"""The other process: runs under the Python that has TensorFlow, replies to frames until they end.

    python worker.py    requests on stdin, replies on stdout, TensorFlow's messages on stderr

A request is a list of calls, the reply a list of their results. A call runs one op (`op`, `inputs`,
`attrs`), or a program of programs/ (`program`, `inputs`).

TensorFlow has checks that end the process. So a fork replies, of this process, which has loaded
TensorFlow and done nothing with it; if a fork crashes, the reply is {"died": its exit code}, and a
new one continues.
"""

import gc
import importlib
import itertools
import mmap
import os
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import tensorflow as tf
import wire
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core
from tensorflow.python.framework import op_def_library

COUNT = itertools.count()


def tensor(value: Any) -> Any:
    """A tensor of an array, or of [dtype name, array] if the array's dtype is another one."""
    if isinstance(value, dict):
        return tf.bitcast(value["values"], value["as"])
    if value.dtype == object:
        return tf.constant(value, tf.string)
    return tf.constant(value)


def array(t: Any) -> Any:
    """A tensor's values; none for a list or a resource."""
    if isinstance(t, tf.IndexedSlices):
        t = tf.convert_to_tensor(t)
    if t.dtype.is_quantized:
        return {"as": t.dtype.name, "values": t.numpy().astype(t.dtype.as_numpy_dtype)}
    found = t.numpy()
    return np.array(found, object) if t.dtype == tf.string else np.asarray(found)


def attribute(value: Any) -> Any:
    """An attribute in the form for tf.raw_ops."""
    if isinstance(value, wire.DTypeName):
        return tf.as_dtype(str(value))
    if isinstance(value, wire.Sizes):
        return tf.TensorShape(value)
    if isinstance(value, np.ndarray):
        return tf.make_tensor_proto(value)
    if isinstance(value, list):
        return [attribute(one) for one in value]
    return value


def flat(found: Any) -> list[Any]:
    """The tensors among the results of an op or a program."""
    if found is None or isinstance(found, tf.Operation):
        return []
    if isinstance(found, (list, tuple)):
        return [one for part in found for one in flat(part)]
    return [found]


def run(call: dict[str, Any], inputs: list[Any]) -> list[Any]:
    """The outputs of the call's op, flat.

    tf.raw_ops is not used, since it gives some arguments other names and another order.
    """
    attrs = {name: attribute(value) for name, value in call["attrs"].items()}
    if tf.executing_eagerly() and not any(isinstance(v, TensorProto) for v in attrs.values()):
        here = context.context()
        pairs = [part for pair in attrs.items() for part in pair]
        try:
            return flat(pywrap_tfe.TFE_Py_FastPathExecute(here, call["op"], None, *inputs, *pairs))
        except core._NotOkStatusException as error:
            raise core._status_to_exception(error) from None
    if tf.executing_eagerly():  # only a graph's node can hold a tensor
        return flat(tf.function(lambda: run(call, inputs))())
    given = dict(zip(call["arguments"], inputs, strict=True))
    return flat(op_def_library.apply_op(call["op"], **given, **attrs))


def watched(inputs: list[Any]) -> list[Any]:
    """The differentiable inputs, flat."""
    return [t for t in flat(inputs) if t.dtype.is_floating or t.dtype.is_complex]


def answer_op(call: dict[str, Any]) -> dict[str, Any]:
    """Values, gradients and shapes of one op."""
    inputs = [
        [tensor(one) for one in value] if isinstance(value, list) else tensor(value)
        for value in call["inputs"]
    ]
    with tf.GradientTape() as tape:
        for one in watched(inputs):
            tape.watch(one)
        outputs = run(call, inputs)
    answer = {"values": [array(y) for y in outputs]}
    if call.get("seed") is not None:
        answer["gradients"] = attempt(gradients, tape, outputs, watched(inputs), call["seed"])
    if call.get("static") is not None:
        answer["shapes"] = attempt(static_shapes, call, inputs)
    return answer


def gradients(tape: Any, outputs: list[Any], inputs: list[Any], seed: int) -> Any:
    """The gradient of each floating-point input, for a cotangent of each such output."""
    chosen = [y for y in outputs if y.dtype.is_floating or y.dtype.is_complex]
    dys = [
        tf.constant(wire.cotangent(tuple(y.shape), np.dtype(y.dtype.as_numpy_dtype), seed + i))
        for i, y in enumerate(chosen)
    ]
    found = tape.gradient(chosen, inputs, output_gradients=dys)
    return [None if dx is None else array(dx) for dx in found]


def static_shapes(call: dict[str, Any], inputs: list[Any]) -> Any:
    """The outputs' shapes in a graph with partly known inputs."""
    known = iter(call["static"])

    def stand_in(value: Any) -> Any:
        told = next(known)
        if told == "constant":
            return tf.constant(value.numpy(), value.dtype)
        return tf.compat.v1.placeholder(value.dtype, None if told is None else list(told))

    with tf.Graph().as_default():
        stand_ins = [
            [stand_in(one) for one in value] if isinstance(value, list) else stand_in(value)
            for value in inputs
        ]
        outputs = run(call, stand_ins)
        return [None if y.shape.rank is None else wire.Sizes(y.shape.as_list()) for y in outputs]


def answer_program(call: dict[str, Any]) -> dict[str, Any]:
    """The result of a program."""
    module, name = call["program"]
    program = getattr(importlib.import_module(f"programs.{module}"), name)
    inputs = [tensor(value) for value in call["inputs"]]
    outputs = [tf.convert_to_tensor(y) for y in flat(program(tf, Ops(), *inputs))]
    return {"values": [array(y) for y in outputs]}


class Ops:
    """Ops by name, for programs: `ops.LookupTableSizeV2(table_handle=…)`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tf.raw_ops, name)

    def fresh_name(self) -> str:
        """A name that no resource of this process uses."""
        return f"program_{next(COUNT)}"

    def handle_of(self, writer: Any) -> Any:
        """The handle of a summary writer."""
        return writer._resource

    def trace(self, function: Any, *arguments: Any) -> Any:
        """The results of a traced function."""
        return tf.function(function)(*arguments)


def attempt(function: Any, *arguments: Any) -> Any:
    """The result, or the error as its class and message."""
    try:
        return function(*arguments)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:2000]}


def main() -> None:
    """Reply until the stream ends, with one fork after the other."""
    # Output of ops must not get between the frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    wire.write(answers, {"version": tf.__version__})
    busy = mmap.mmap(-1, 1)  # shared: 1 while a client waits for a reply
    gc.collect()
    gc.freeze()
    while True:
        child = os.fork()
        if not child:
            serve(answers, busy)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return
        if busy[0]:
            busy[0] = 0
            wire.write(answers, {"died": code})


def serve(answers: BinaryIO, busy: mmap.mmap) -> NoReturn:
    """Run the process that replies; it ends with the stream."""
    try:
        while True:
            calls = wire.read(sys.stdin.buffer)
            busy[0] = 1
            found = [
                attempt(answer_program if "program" in call else answer_op, call) for call in calls
            ]
            wire.write(answers, found)
            busy[0] = 0
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
