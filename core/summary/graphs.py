"""Graphs in event files: `graph`, `trace_on`, `trace_export`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.tensor import Tensor, wrap
from pinnace.graph.graph import Graph
from pinnace.ops.summary import writing
from pinnace.profiler import experimental
from pinnace.storage.varints import field_header
from pinnace.summary.event_file import metadata
from pinnace.summary.values import write
from pinnace.summary.writer import recorded

# Whether `trace_on` started a profile: global, like profiles.
_profiling: list[bool] = []


def graph_bytes(graph: Any) -> bytes:
    """A GraphDef message.

    Args:
        graph: a Graph, what has one (a concrete function), a GraphDef message or its bytes.
    """
    if isinstance(graph, bytes):
        return graph
    if hasattr(graph, "SerializeToString"):
        encoded: bytes = graph.SerializeToString()
        return encoded
    graph = getattr(graph, "graph", graph)
    if not isinstance(graph, Graph):
        raise TypeError(f"summary.graph: a graph or a concrete function is required, got {graph!r}")
    from pinnace.graph.codec.encoding import encode_graph

    message: Any = encode_graph(graph)
    return message.SerializeToString()  # type: ignore[no-any-return]


def _scalar(data: bytes) -> Tensor:
    array = np.empty((), object)
    array[()] = data
    return wrap(array, dtypes.string)


def graph(graph_data: Any) -> Tensor:
    """Write a graph.

    Args:
        graph_data: a Graph, a concrete function, a GraphDef message or its bytes.

    Returns:
        [], bool: whether it was written.
    """
    if state.tracer is not None:
        raise RuntimeError("summary.graph cannot be called while a function is traced")
    encoded = _scalar(graph_bytes(graph_data))
    return recorded(0, "graph", lambda handle, step: writing.write_graph(handle, step, encoded))


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: Any = None) -> None:
    """Record the graphs of functions called by this thread, until `trace_export`.

    Args:
        graph: whether to.
        profiler: whether what all threads run is profiled, too; `trace_export` writes it.
        profiler_outdir: TensorBoard's log folder for the profile.

    Raises:
        InvalidArgumentError: a profile is wanted, and no folder for it is given.
        AlreadyExistsError: another profile is being taken.
    """
    if profiler:
        if profiler_outdir is None:
            raise InvalidArgumentError("trace_on: profiler=True needs profiler_outdir, a folder")
        experimental.start(profiler_outdir)
        _profiling.append(True)
    else:
        ignored("trace_on", "profiler is False", profiler_outdir=profiler_outdir)
    # `functions/concrete.py` appends what it runs.
    state.graphs = [] if graph else None


def trace_export(name: str, step: Any = None, profiler_outdir: Any = None) -> None:
    """Write the graphs remembered since `trace_on`, and stop remembering.

    Args:
        name: the tag to write them under.
        step: when; the default step if None.
        profiler_outdir: without effect, and told so: `trace_on` is given it.

    Raises:
        RuntimeError: `trace_on` was not called.
    """
    ignored("trace_export", "trace_on is given the folder", profiler_outdir=profiler_outdir)
    collected: list[Graph] | None = state.graphs
    if collected is None:
        raise RuntimeError("trace_export: summary.trace_on must be called first")
    state.graphs = None
    if _profiling:
        _profiling.clear()
        experimental.stop()
    unique = list({id(one): one for one in collected}.values())
    encoded = run_metadata([graph_bytes(one) for one in unique])
    write(name, _scalar(encoded), step, metadata("graph_run_metadata_graph", data_class=3))


def trace_off() -> None:
    """Stop the trace and discard it."""
    state.graphs = None
    if _profiling:
        _profiling.clear()
        experimental.stop(save=False)


def run_metadata(graphs: list[bytes]) -> bytes:
    """A RunMetadata message: each graph as a partition graph and as a function's graph.

    Source:
        tensorflow/core/protobuf/config.proto: partition_graphs = 3, function_graphs = 4 with
        partition_graphs = 1, pre_optimization_graph = 2, post_optimization_graph = 3.
    """
    partitions = [_field(3, one) for one in graphs]
    functions = [_field(4, b"".join(_field(number, one) for number in (1, 2, 3))) for one in graphs]
    return b"".join(partitions + functions)


def _field(number: int, data: bytes) -> bytes:
    return field_header(number, len(data)) + data
