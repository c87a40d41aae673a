"""The errors and warnings of loading and running a SavedModel, found without running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework.context import init_scope
from pinnace.framework.errors import OpError
from pinnace.graph.codec.opaque import without_kernels
from pinnace.saved_model import layout
from pinnace.saved_model.missing_kernels import MissingKernel, missing_below
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.restoring import Loader
from pinnace.saved_model.v1_graphs import MainGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pinnace.functions.concrete import ConcreteFunction
    from pinnace.graph.graph import Graph
    from pinnace.proto.saved_model_pb2 import MetaGraphDef


@dataclass(frozen=True, slots=True)
class SignatureReadiness:
    """Whether a signature can run, and if not, why.

    Attributes:
        name: the signature's name.
        error: the error that making it raises; empty if it can be made.
        missing: the ops without a kernel that it reaches, including those that create its tables.
    """

    name: str
    error: str = ""
    missing: tuple[MissingKernel, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it cannot run, or might not; empty if it can."""
        said = list(filter(None, [self.error]))
        if self.missing:
            said.append(without_kernels([one.op for one in self.missing], self.missing[0].place))
        return tuple(said)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a model can be loaded, and its signatures run.

    Attributes:
        error: the error that `load` raises; empty if it loads.
        signatures: the signatures of a model that loads, by name.
    """

    error: str = ""
    signatures: tuple[SignatureReadiness, ...] = ()

    @property
    def unready(self) -> tuple[SignatureReadiness, ...]:
        """The signatures that cannot run, or might not."""
        return tuple(one for one in self.signatures if one.problems)

    @property
    def missing(self) -> frozenset[str]:
        """The ops without a kernel that signatures reach."""
        return frozenset(one.op for signature in self.signatures for one in signature.missing)


def readiness_of(folder: Path, meta: MetaGraphDef, options: LoadOptions | None = None) -> Readiness:
    """The errors and warnings of loading a model and running its signatures.

    Args:
        folder: the model.
        meta: its graph.
        options: those that will be given to `load`.
    """
    chosen = options or LoadOptions()
    try:
        with init_scope():
            if meta.HasField("object_graph_def"):
                return _with_objects(Loader(folder, meta, chosen))
            where = str(layout.model_path(folder))
            return _main_graph(MainGraph(folder, meta, chosen, where), chosen)
    except OpError as error:
        return Readiness(error.message)


def _with_objects(loader: Loader) -> Readiness:
    loader.prepare()
    found = []
    for name, function in sorted(loader.signature_names().items()):
        try:
            graphs = loader.graphs_behind(function)
            found.append(SignatureReadiness(name, missing=_missing(graphs)))
        except OpError as error:
            found.append(SignatureReadiness(name, error.message))
    return Readiness("", tuple(found))


def _main_graph(main: MainGraph, options: LoadOptions) -> Readiness:
    signatures: Mapping[str, ConcreteFunction] = main.prepare().signatures
    if not options.experimental_skip_checkpoint:
        main.initialise(rehearsed=True)
    found = []
    for name in sorted(signatures):
        try:
            graph = signatures[name].graph
            found.append(SignatureReadiness(name, missing=_missing([graph])))
        except OpError as error:
            found.append(SignatureReadiness(name, error.message))
    return Readiness("", tuple(found))


def _missing(graphs: Iterable[Graph]) -> tuple[MissingKernel, ...]:
    """The ops without a kernel that any of these needs, without duplicates."""
    found: dict[str, MissingKernel] = {}
    for graph in graphs:
        for one in missing_below(graph):
            found.setdefault(one.op, one)
    return tuple(found[name] for name in sorted(found))
