"""Comparison of graphs, and decorators of test cases that depend on the machine."""

from __future__ import annotations

import functools
import platform
import re
from typing import TYPE_CHECKING, Any

from pinnace.framework.no_effect import ignored
from pinnace.proto.graph_pb2 import GraphDef

if TYPE_CHECKING:
    from collections.abc import Callable

# Names with a part that TensorFlow draws at random: tables, temporary files.
_DRAWN = re.compile(r"^(hash_table|_temp)_[0-9a-f-]+")


def assert_equal_graph_def(expected: Any, actual: Any) -> None:
    """Assert that two graphs have the same nodes, in any order of nodes and control inputs.

    Args:
        expected: GraphDef.
        actual: GraphDef.

    Raises:
        TypeError: one is no GraphDef.
        AssertionError: the graphs differ.
    """
    for name, graph in (("expected", expected), ("actual", actual)):
        if not isinstance(graph, GraphDef):
            raise TypeError(
                f"assert_equal_graph_def: {name} must be a GraphDef, got {type(graph).__name__}"
            )
    theirs, ours = _nodes(expected), _nodes(actual)
    for name in sorted(theirs.keys() ^ ours.keys()):
        where = "expected" if name in theirs else "actual"
        raise AssertionError(f"node {name!r} is in the {where} graph only")
    for name, node in theirs.items():
        if node != ours[name]:
            raise AssertionError(f"node {name!r} differs:\nexpected\n{node}\nactual\n{ours[name]}")


def _nodes(graph: Any) -> dict[str, Any]:
    found = {}
    for node in graph.node:
        kept = type(node)()
        kept.CopyFrom(node)
        data = [one for one in node.input if not one.startswith("^")]
        controls = sorted(one for one in node.input if one.startswith("^"))
        del kept.input[:]
        kept.input.extend([*data, *controls])
        name = kept.attr["shared_name"].s if "shared_name" in kept.attr else b""
        if _DRAWN.match(name.decode(errors="replace")):
            del kept.attr["shared_name"]
        found[node.name] = kept
    return found


def disable_with_predicate(
    pred: Callable[[], bool], skip_message: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a test method: it is skipped where a condition holds.

    Args:
        pred: the condition, asked when the test is to run.
        skip_message: why it is skipped.
    """

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return test(self, *args, **kwargs)

        return run

    return decorate


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """A decorator without effect, as in TensorFlow.

    Args:
        cls: a test case.
        only_as_function: without effect.
    """
    why = "ops run in one way"
    ignored("with_eager_op_as_function", why, False, only_as_function=only_as_function)
    return (lambda one: one) if cls is None else cls


def is_cpu_target_available(target: str) -> bool:
    """Whether the CPU is of a kind.

    Args:
        target: "x86" or "aarch64".
    """
    kinds = {"x86_64": "x86", "amd64": "x86", "arm64": "aarch64"}
    machine = platform.machine().lower()
    return kinds.get(machine, machine) == target


def sync_devices() -> None:
    """Do nothing: on a CPU, ops have finished when they return."""
