"""Access of ops outside the process: only as declared, and none from a loaded model."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import dtypes
from pinnace.framework.errors import PermissionDeniedError
from pinnace.graph.codec.attrs import encode_attr
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.graphs import decode_graph
from pinnace.graph.codec.nodes import attr_kind
from pinnace.ops import gate
from pinnace.ops.control import printing
from pinnace.ops.execute import execute
from pinnace.ops.opdef import OpDef
from pinnace.ops.registry import lookup, registered
from pinnace.proto.graph_pb2 import GraphDef
from support.opened import watched


def test_the_watch_sees_files_sockets_and_processes(tmp_path: Path) -> None:
    import socket
    import subprocess

    for opens in (
        (tmp_path / "file").touch,
        lambda: list(tmp_path.iterdir()),
        socket.socket,
        lambda: subprocess.Popen([sys.executable, "-c", ""]).wait(),
    ):
        with watched() as found:
            made = opens()
        assert found
        if hasattr(made, "close"):
            made.close()


def test_ops_with_an_effect_beyond_values_say_what_they_reach() -> None:
    # Ops with a side effect but no outside access: errors, the clock, iterators over a program's
    # datasets, queues and mutexes of the process.
    harmless = {"Assert", "CheckNumerics", "CheckNumericsV2", "StatelessRandomGetAlg", "Timestamp"}
    harmless |= {f"AnonymousIterator{version}" for version in ("", "V2", "V3")}
    harmless |= {f"{kind}QueueV2" for kind in ("FIFO", "PaddingFIFO", "Priority", "RandomShuffle")}
    harmless.add("MutexV2")
    silent = {op.name for op in registered().values() if op.effect == "io" and not op.reaches}
    assert silent <= harmless


# Arguments of the ops with outside access, where defaults do not suffice or do not exist.
ATTRS: dict[str, dict[str, Any]] = {
    "PyFunc": {"token": "token"},
    "PyFuncStateless": {"token": "token"},
    "EagerPyFunc": {"token": "token"},
    "PrintV2": {"output_stream": "file:///nowhere/out"},
    "FixedUnigramCandidateSampler": {
        "num_true": 1, "num_sampled": 1, "unique": True, "range_max": 2, "vocab_file": "/nowhere",
    },
    "InitializeTableFromTextFileV2": {"key_index": -2, "value_index": -1},
    "RestoreV2": {"dtypes": ()},
    "DecodeProtoV2": {
        "message_type": "M", "field_names": (), "output_types": (), "descriptor_source": "/nowhere",
    },
    "EncodeProto": {
        "message_type": "M", "field_names": (), "Tinput_types": (), "descriptor_source": "/nowhere",
    },
}  # fmt: skip


def reaching() -> list[OpDef]:
    """The ops that declare outside access, with the attributes above."""
    return [op for op in registered().values() if op.reaches]


def with_defaults(op: OpDef) -> dict[str, Any]:
    return op.full_attrs(ATTRS.get(op.name, {}))


def decoded(op: OpDef, *, allow_io: bool) -> OpDef:
    """The op of a node that was written to a file and read."""
    attrs = with_defaults(op)
    graph = GraphDef()
    node = graph.node.add(name="node", op=op.name)
    for arg in op.inputs:
        if arg.list_attr:
            attrs[arg.list_attr] = ()
            continue
        dtype = arg.dtype or attrs.setdefault(arg.type_attr, dtypes.float32)
        given_ = graph.node.add(name=arg.name, op="Placeholder")
        given_.attr["dtype"].type = dtype.enum  # type: ignore[assignment]
        given_.attr["shape"].shape.unknown_rank = True
        node.input.append(arg.name)
    for name, value in attrs.items():
        node.attr[name].CopyFrom(encode_attr(value, attr_kind(op, name)))
    library = FunctionLibrary([], "a file", allow_io=allow_io)
    found = decode_graph(graph, "a file", [], effects=["node"], library=library)
    return next(one for one in found.nodes if one.name == "node").op


@pytest.mark.parametrize("op", reaching(), ids=lambda op: op.name)
def test_a_loaded_model_has_another_kernel_for_what_reaches_out(op: OpDef) -> None:
    assert decoded(op, allow_io=True) is op
    closed = decoded(op, allow_io=False)
    assert closed.name == op.name
    assert closed.kernel is not None
    assert closed.kernel is op.guarded or closed.kernel is not op.kernel


def refused() -> list[OpDef]:
    """The ops that access files or Python; ops that only print are below."""
    return [op for op in reaching() if op.reach(with_defaults(op)) != "the terminal"]


@pytest.mark.parametrize("op", refused(), ids=lambda op: op.name)
def test_that_kernel_refuses_and_opens_nothing(op: OpDef) -> None:
    attrs = with_defaults(op)
    closed = gate.admitted(op, attrs)
    path = np.array(b"/nowhere/in", object)
    inputs = [path] * len(op.inputs)
    if op.name == "InitializeTableFromTextFileV2":
        kinds = {"key_dtype": dtypes.string, "value_dtype": dtypes.string}
        inputs[0] = np.asarray(execute(lookup("HashTableV2"), **kinds)._array)
    options = {name: attrs[name] for name in closed.kernel_attrs}
    assert closed.kernel is not None
    with watched() as found, pytest.raises(PermissionDeniedError, match=op.name):
        closed.kernel(*inputs, **options)
    assert not found


STEERING = "\x1b[2J\x1b]0;title\x07\x9b31m\r\u202e"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_a_loaded_model_prints_cannot_steer_the_terminal(
    stream: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attrs = {"output_stream": stream, "end": "\x1b[0m\n"}
    closed = gate.admitted(printing.PRINT_V2, attrs)
    assert closed.kernel is not None
    closed.kernel(np.array(f"a\n{STEERING}b".encode(), object), **attrs)
    old = gate.admitted(printing.PRINT, {})
    assert old.kernel is not None
    old.kernel(np.zeros(1), (), message=STEERING, first_n=-1, summarize=3)
    out, err = capsys.readouterr()
    printed = out if stream == "stdout" else err
    assert printed.startswith("a\n\\x1b[2J")
    for text in (out, err):
        assert all(char == "\n" or char.isprintable() for char in text)


def test_a_program_of_ones_own_prints_what_it_likes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tf.print("\x1b[1mbold", output_stream=sys.stdout)
    assert capsys.readouterr().out == "\x1b[1mbold\n"
    tf.print("line", output_stream=f"file://{tmp_path / 'log'}")
    assert (tmp_path / "log").read_text() == "line\n"
