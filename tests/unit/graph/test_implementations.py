"""Functions with several implementations: the same one is called as by TensorFlow on CPUs.

TensorFlow's own results are in `tests/interop/version2/programs/wild.py`, `for_devices`.
"""

import numpy as np
import pytest

from pinnace.engine.build import plan_of
from pinnace.framework.errors import InvalidArgumentError
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.proto.function_pb2 import FunctionDef


def function(name: str, op: str, interface: str = "", device: str = "", **more: str) -> FunctionDef:
    """A function that applies `op` to one number."""
    message = FunctionDef()
    message.signature.name = name
    message.signature.input_arg.add(name="x", type=1)
    message.signature.output_arg.add(name="y", type=1)
    node = message.node_def.add(name="n", op=op, input=["x"])
    node.attr["T"].type = 1  # type: ignore[assignment]
    message.ret["y"] = "n:y:0"
    marks = {"api_implements": interface, "api_preferred_device": device, **more}
    for key, value in marks.items():
        if value:
            message.attr[key].s = value.encode()
    return message


def caller(called: str) -> FunctionDef:
    message = function("caller", "PartitionedCall")
    node = message.node_def[0]
    del node.attr["T"]
    node.attr["f"].func.name = called
    for key in ("Tin", "Tout"):
        node.attr[key].list.type.append(1)  # type: ignore[arg-type]
    message.ret["y"] = "n:output:0"
    return message


def answer(*functions: FunctionDef, called: str = "first") -> float:
    library = FunctionLibrary([*functions, caller(called)], "the file")
    (y,) = plan_of(library.graph("caller"))([np.float32(2)])
    return float(np.asarray(y))


@pytest.mark.parametrize(
    ("devices", "wanted"),
    [
        (("", "CPU"), 4.0),
        (("GPU", "CPU"), 4.0),
        (("CPU", "GPU"), -2.0),
        (("CPU", "CPU"), -2.0),
        (("", ""), -2.0),
        (("", "cpu"), -2.0),
        (("", "GPU"), -2.0),
    ],
)
def test_the_implementation_for_cpus_is_called(devices: tuple[str, str], wanted: float) -> None:
    first = function("first", "Neg", "one", devices[0])
    assert answer(first, function("other", "Square", "one", devices[1])) == wanted


def test_another_interface_and_no_interface_are_left_alone() -> None:
    first = function("first", "Neg", "one")
    assert answer(first, function("other", "Square", "two", "CPU")) == -2.0
    assert answer(function("first", "Neg"), function("other", "Square", "", "CPU")) == -2.0


def test_halves_of_a_differentiated_function_and_other_types_are_left_alone() -> None:
    half = function("other", "Square", "one", "CPU", backward_function_name="back")
    assert answer(function("first", "Neg", "one"), half) == -2.0
    wider = function("other", "Square", "one", "CPU")
    wider.signature.input_arg.add(name="z", type=1)
    assert answer(function("first", "Neg", "one"), wider) == -2.0


def test_a_function_asked_for_by_name_is_that_one() -> None:
    library = FunctionLibrary(
        [function("first", "Neg", "one"), function("other", "Square", "one", "CPU")], "the file"
    )
    assert library.graph("first").name == "first"
    assert library.ref("first").graph.name == "other"


def test_what_is_called_instead_may_not_lead_back() -> None:
    back = caller("first")
    back.signature.name = "other"
    back.attr["api_implements"].s = b"one"
    back.attr["api_preferred_device"].s = b"CPU"
    with pytest.raises(InvalidArgumentError, match="calls itself"):
        answer(function("first", "Neg", "one"), back)
