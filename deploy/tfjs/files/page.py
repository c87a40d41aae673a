"""The page in a model's folder that runs the model in the browser."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinnace.deploy.page.contents import Page, check_page
from pinnace.deploy.page.runtimes import TFJS, Found, find_runtime
from pinnace.deploy.page.writing import write_page
from pinnace.deploy.program.labels import Labels, labels_of
from pinnace.deploy.program.pixels import Scaling, pixels_of
from pinnace.deploy.program.sources import Program
from pinnace.deploy.sampling.samples import Run
from pinnace.deploy.tfjs.files.folder import MODEL_FILE
from pinnace.deploy.tfjs.graph.lowering import THERE
from pinnace.framework.dtypes import from_numpy
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.graph.graph import Graph

_TOLERANCE = 1e-4
_WASM = "@tensorflow/tfjs-backend-wasm"


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The options of a page.

    Attributes:
        runtime: the files of TensorFlow.js.
        labels: output -> names of its entries.
        normalization: the user's option.
    """

    runtime: Found
    labels: Mapping[str, Sequence[str]]
    normalization: Mapping[str, Scaling] | Scaling | None


def page_options(
    program: Program,
    model: object,
    runtime: str | os.PathLike[str] | None,
    labels: Labels | None,
    normalization: Mapping[str, Scaling] | Scaling | None,
) -> PageOptions:
    """Check the options of a page before anything is done.

    Raises:
        NotFoundError: TensorFlow.js is not installed.
        UnimplementedError: an input or output has a type that TensorFlow.js lacks.
        InvalidArgumentError: the labels do not match the outputs.
    """
    check_page(TFJS, _there(program.inputs), _there(program.outputs))
    told = labels_of(labels, model, program.outputs)
    return PageOptions(find_runtime(TFJS, runtime), told, normalization)


def write_tfjs_page(
    folder: Path,
    program: Program,
    graph: Graph,
    runs: Sequence[Run],
    options: PageOptions,
    *,
    kind: str | None,
    drawn: Sequence[str] = (),
    waits: bool = False,
    layers: bool = False,
) -> None:
    """Write the page.

    Args:
        folder: the model's folder.
        program: the model.
        graph: the model, frozen and folded.
        runs: inputs, with the outputs for the weights in the folder.
        options: the page's options.
        kind: the storage of the weights.
        drawn: outputs that depend on random numbers.
        waits: whether the model must be run asynchronously.
        layers: whether it is a layers model.

    Raises:
        InvalidArgumentError: there are random outputs.
    """
    if drawn:
        raise InvalidArgumentError(
            f"export: a page compares outputs, but {', '.join(drawn)} are drawn anew in each run"
        )
    backends = ["wasm"] if _WASM in options.runtime.packages else []
    about = "layers model" if layers else f"signature {program.signature}"
    about += "" if kind is None else f", {kind} weights"
    write_page(
        folder,
        Page(
            title=program.source,
            about=about,
            model=MODEL_FILE,
            content=None,
            inputs=_there(program.inputs),
            outputs=_there(program.outputs),
            cases=[
                (
                    _converted(zip(program.inputs, run.inputs, strict=True)),
                    _converted(zip(program.outputs, run.outputs, strict=True)),
                )
                for run in runs
            ],
            tolerance=_TOLERANCE,
            labels=options.labels,
            pixels=pixels_of(graph, program.inputs, options.normalization),
            more={"backends": [*backends, "cpu"], "waits": waits, "layers": layers},
        ),
        options.runtime,
    )


def _there(specs: Mapping[str, TensorSpec]) -> dict[str, TensorSpec]:
    """The specs with the types that TensorFlow.js uses."""
    return {
        name: TensorSpec(spec.shape, THERE.get(spec.dtype, spec.dtype), name)
        for name, spec in specs.items()
    }


def _converted(arrays: "zip[tuple[str, Array]]") -> dict[str, Array]:
    found = {}
    for name, array in arrays:
        there = THERE[from_numpy(array.dtype)]
        found[name] = array if array.dtype.kind in "OSU" else np.asarray(array, there.numpy)
    return found
