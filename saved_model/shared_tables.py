"""Tables that a model's functions find by name, instead of by a handle argument.

TensorFlow writes such functions for version 1 models that it loaded and saved: one of them creates
a table by name and initialises it, others create it by the same name and look up keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.shared_resources import PREFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pinnace.ops.shared_resources import Container
    from pinnace.proto.function_pb2 import FunctionDef
    from pinnace.proto.node_def_pb2 import NodeDef


def functions_in(
    container: Container, functions: Iterable[FunctionDef], creators: Collection[str]
) -> Iterator[FunctionDef]:
    """Return functions with their named tables in a container.

    Args:
        container: the model's container.
        functions: the file's functions.
        creators: functions that create an object's own table.
    """
    for function in functions:
        places = [n for n, node in enumerate(function.node_def) if _makes_named(node)]
        if not places or function.signature.name in creators:
            yield function
            continue
        copy = type(function)()
        copy.CopyFrom(function)
        for place in places:
            copy.node_def[place].attr["container"].s = container.name.encode()
        yield copy


def _makes_named(node: NodeDef) -> bool:
    """Whether a node makes a table that other nodes may know by a name."""
    if "shared_name" not in node.attr or node.attr["shared_name"].s == b"":
        return False
    # Imported here: it needs the ops of datasets and trees, and few functions have such a node.
    from pinnace.saved_model.v1_resources import makes_named

    return makes_named(node)


def without_container(function: FunctionDef) -> FunctionDef:
    """Return a function whose shared tables have no container, as it is written."""
    for node in function.node_def:
        if "container" in node.attr and node.attr["container"].s.startswith(PREFIX.encode()):
            node.attr["container"].s = b""
    return function
