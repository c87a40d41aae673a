"""export: freeze, fold, lower, serialise, run in TensorFlow.js, compare, move into place."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnace.deploy.program.draws import drawn_outputs
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.labels import Labels
from pinnace.deploy.program.pixels import Scaling
from pinnace.deploy.program.sources import Program, find_program, refuse_own_files
from pinnace.deploy.program.states import with_states
from pinnace.deploy.sampling.comparing import TOLERANCES, Agreement, agreement
from pinnace.deploy.sampling.corners import corners_of
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import Run, runs_of
from pinnace.deploy.tfjs.checks.node import NodeRuntime, find_runtime, run_in_node
from pinnace.deploy.tfjs.files.folder import check_target, staged_folder, write_model
from pinnace.deploy.tfjs.files.page import PageOptions, page_options, write_tfjs_page
from pinnace.deploy.tfjs.files.topology import Topology, topology_of
from pinnace.deploy.tfjs.files.weights import KINDS, SHARD_BYTES, Quantization, write_weights
from pinnace.deploy.tfjs.graph.folding import with_folded_channels
from pinnace.deploy.tfjs.graph.lowering import Lowered, lower
from pinnace.deploy.tfjs.reading import load
from pinnace.deploy.tfjs.report import NOT_VERIFIED, TfjsReport, write_report
from pinnace.engine.passes.fold import fold
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array
from pinnace.framework.versions import VERSION

GRAPH_MODEL = "graph-model"
# Ops whose nodes are awaited during a run.
_ASYNC = frozenset({"StatelessIf", "StatelessWhile", "If", "While", "Where", "ListDiff"})
_HALVES = (dtypes.float16, dtypes.bfloat16)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The arguments of `export`, which documents them."""

    folder: Path
    quantize: Quantization | None
    shard_bytes: int
    verify: bool
    runtime: NodeRuntime | None
    sample: Mapping[str, Any] | None
    allow_random: bool
    structured_outputs: bool
    page: PageOptions | None = None


def export(
    model: object,
    folder: str | os.PathLike[str],
    signature: str = "serving_default",
    *,
    quantize: Quantization | None = None,
    shard_bytes: int = SHARD_BYTES,
    verify: bool = True,
    runtime: str | os.PathLike[str] | None = None,
    sample: Mapping[str, Any] | None = None,
    report: str | os.PathLike[str] | None = None,
    verify_timeout_s: float = 60.0,
    tags: str | Sequence[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    allow_random: bool = False,
    structured_outputs: bool = False,
    page: bool = False,
    labels: Labels | None = None,
    normalization: Scaling | Mapping[str, Scaling] | None = None,
) -> TfjsReport:
    """Write a model as a graph model of TensorFlow.js, and compare its results in Node.

    Args:
        model: the folder of a SavedModel, the file of a frozen graph, a Keras model, a
            ConcreteFunction, or the result of `saved_model.load` or
            `saved_model.load_frozen_graph`.
        folder: the folder for `model.json` and the weight shards; an earlier model is replaced.
        signature: the name of the signature; None takes the model's only one.
        quantize: the storage of float32 weights: "float16", or "uint8" or "uint16" with a scale and
            minimum for each weight. TensorFlow.js computes in float32 in any case.
        shard_bytes: the size of a weight file.
        verify: whether to run the model in TensorFlow.js and compare the outputs; if TensorFlow.js
            is not installed, the report and the log say so.
        runtime: the `node_modules` folder with `@tensorflow/tfjs` (and
            `@tensorflow/tfjs-backend-wasm`), or the folder that contains it; None searches the
            current folder and those above.
        sample: inputs to compare on, by name; None draws random ones.
        report: a `.json` or `.md` file for the report.
        verify_timeout_s: the time limit of one run of the comparison, in seconds.
        tags: the tags of the graph to take; None takes the only one, or that for serving.
        shapes: shapes of inputs by name, with None for a variable size.
        allow_random: whether TensorFlow.js may draw random numbers for ops without a fixed seed.
        structured_outputs: whether `predict` returns the outputs by name, as an object.
        page: whether to add a web page that runs the model and checks itself; it loads nothing from
            other hosts, and TensorFlow.js is copied into the folder.
        labels: for the page, the names of an output's entries: a file with one per line, the names,
            or either by output name; None looks for `labels.txt` in the folder of `model`.
        normalization: for the page, the scaling of image inputs, (mean, standard deviation) of
            pixels of 0 to 255, or one by input name. None takes it from the model's first layers
            (`Rescaling`, `Normalization`), else 0 to 1.

    Returns:
        The files written, and how well the results agree.

    Raises:
        UnimplementedError: the model has ops that cannot be written; the message lists all of them
            with their nodes and the lines that called them.
        NotFoundError: the model or signature does not exist, the parent of `folder` does not exist,
            or `runtime` has no TensorFlow.js.
        InvalidArgumentError: an option is wrong, or a weight is NaN.
        FailedPreconditionError: the folder contains other files.
        DeadlineExceededError: a run of the comparison took too long.
        InternalError: the results differ from the model's. Nothing is written.
    """
    refuse_own_files(model, folder)
    check_options(quantize, shard_bytes)
    check_page_options(page=page, labels=labels, normalization=normalization)
    check_target(folder)
    found = find_program(model, signature, [tags] if isinstance(tags, str) else tags, shapes)
    program = with_states(replace(found, limit_s=verify_timeout_s))
    told = export_program(
        program,
        Options(
            folder=Path(folder),
            quantize=quantize,
            shard_bytes=shard_bytes,
            verify=verify,
            runtime=runtime_for(runtime, verify=verify),
            sample=sample,
            allow_random=allow_random,
            structured_outputs=structured_outputs,
            page=page_options(program, model, runtime, labels, normalization) if page else None,
        ),
    )
    if report is not None:
        write_report(report, told)
    return told


def check_options(quantize: str | None, shard_bytes: int) -> None:
    """Refuse wrong options before anything is done.

    Raises:
        InvalidArgumentError: an option is wrong.
    """
    if quantize is not None and quantize not in KINDS:
        raise InvalidArgumentError(
            f"export: quantize must be one of {', '.join(KINDS)} or None, got {quantize!r}"
        )
    if not isinstance(shard_bytes, int) or isinstance(shard_bytes, bool) or shard_bytes < 1024:
        raise InvalidArgumentError(
            f"export: shard_bytes must be at least 1024 (bytes), got {shard_bytes!r}"
        )


def check_page_options(*, page: bool, labels: object, normalization: object) -> None:
    """Refuse options of a page if no page was asked for.

    Raises:
        InvalidArgumentError: such an option is given.
    """
    if not page and (labels is not None or normalization is not None):
        raise InvalidArgumentError(
            "export: labels and normalization need a page (page=True), as a model of TensorFlow.js "
            "has no place for them"
        )


def runtime_for(given: str | os.PathLike[str] | None, *, verify: bool) -> NodeRuntime | None:
    """Find TensorFlow.js if it is to be run; log a line if it is not installed."""
    if not verify:
        return None
    found = find_runtime(given)
    if found is None:
        _log.warning("export: %s", NOT_VERIFIED)
    return found


def export_program(program: Program, options: Options) -> TfjsReport:
    """Write a program; see `export`."""
    frozen = freeze(program)
    folded = replace(fold(frozen.graph), output_names=tuple(program.outputs))
    lowered = lower(folded, program.inputs, may_draw=options.allow_random)
    graph = with_folded_channels(lowered.graph)
    topology = topology_of(graph, program.inputs, program.outputs)
    drawn = drawn_outputs(folded)
    with staged_folder(options.folder) as stage:
        size = _write(stage, program, topology, options, options.quantize)
        slack = max((TOLERANCES[one] for one in lowered.types if one in _HALVES), default=0.0)
        found = _check(stage, program, topology, options, drawn, slack)
        if options.page is not None:
            shown = _shown(stage, program, options)
            write_tfjs_page(
                stage,
                program,
                folded,
                shown,
                options.page,
                kind=options.quantize,
                drawn=drawn,
                waits=_needs_async(topology),
            )
        files = tuple(sorted(one.name for one in stage.iterdir()))
    return _report(program, topology, lowered, options, found, size, files, frozen.dropped, drawn)


def _write(
    stage: Path,
    program: Program,
    topology: Topology,
    options: Options,
    quantize: Quantization | None,
) -> int:
    """Write the files; return the bytes of the weights."""
    manifest, size = write_weights(stage, topology.weights, quantize, options.shard_bytes)
    facts = {name: value for name, value in program.facts.items() if value}
    metadata: dict[str, Any] = {"pinnace": {**facts, "source": program.source}}
    if options.structured_outputs:
        metadata["structuredOutputKeys"] = list(program.outputs)
    content = {
        "format": GRAPH_MODEL,
        "generatedBy": facts.get("source_tensorflow_version", "pinnace"),
        "convertedBy": f"pinnace {VERSION}",
        "signature": topology.signature,
        "userDefinedMetadata": metadata,
        "modelTopology": topology.message,
        "weightsManifest": manifest,
    }
    write_model(stage, content)
    return size


@dataclass(slots=True)
class _Found:
    """The result of a check.

    Attributes:
        slack: an addition to the tolerance, as TensorFlow.js does not round to half precision.
    """

    checked: dict[str, str]
    lacking: dict[str, str]
    slack: float = 0.0
    agreement: Agreement | None = None
    moved: Mapping[str, tuple[float, float]] | None = None


def _check(
    stage: Path,
    program: Program,
    topology: Topology,
    options: Options,
    drawn: Sequence[str],
    slack: float,
) -> _Found:
    found = _Found({}, {}, slack)
    if options.runtime is None:
        return found
    with reference(plain=program.is_ours):
        runs = list(runs_of(program, options.sample))
        if options.sample is None:
            runs += corners_of(program, runs)
    if options.quantize is None:
        _compare(stage, program, runs, options, drawn, found)
        return found
    # The graph is verified with the original weights; the files hold the weights that pinnace
    # itself reads back.
    exact = stage / "exact"
    exact.mkdir()
    _write(exact, program, topology, options, None)
    _compare(exact, program, runs, options, drawn, found)
    for one in exact.iterdir():
        one.unlink()
    exact.rmdir()
    read = _read_back(stage, program)
    with reference(plain=True):
        again = []
        for run in runs:
            arrays = _fed(program, read, run.wide or run.inputs)
            again.append(Run(arrays, read.run(arrays), kind=run.kind))
        found.moved = _moved(program, runs, read)
    _compare(stage, read, again, options, drawn, found)
    return found


def _shown(stage: Path, program: Program, options: Options) -> list[Run]:
    """Runs for the page, with the outputs for the weights in the folder."""
    with reference(plain=program.is_ours):
        runs = list(runs_of(program, options.sample))
        if options.runtime is not None:
            # The report lists inputs that TensorFlow.js does not take, such as loops without steps.
            feeds = [dict(zip(program.inputs, run.inputs, strict=True)) for run in runs]
            ran = run_in_node(options.runtime, "cpu", stage, feeds, limit_s=program.limit_s)
            pairs = zip(runs, ran.results, strict=False)
            runs = [run for run, result in pairs if not isinstance(result, str)]
        if options.quantize is None:
            return runs
        read = _read_back(stage, program)
        found = []
        for run in runs:
            results = dict(
                zip(read.outputs, read.run(_fed(program, read, run.inputs)), strict=True)
            )
            outputs = tuple(results[name] for name in program.outputs)
            found.append(Run(run.inputs, outputs, kind=run.kind))
    return found


def _read_back(stage: Path, program: Program) -> Program:
    """The model with the weights in the folder, and inputs and outputs in the program's order."""
    concrete = load(stage)
    return replace(
        program,
        concrete=concrete,
        inputs={name: program.inputs[name] for name in concrete.array_inputs},
        outputs={name: program.outputs[name] for name in concrete.array_outputs},
        is_ours=True,
        states=(),
    )


def _fed(program: Program, read: Program, arrays: Sequence[Array]) -> list[Array]:
    """Inputs of one program in the order of the other's."""
    named = dict(zip(program.inputs, arrays, strict=True))
    return [named[name] for name in read.inputs]


def _moved(program: Program, runs: Sequence[Run], read: Program) -> dict[str, tuple[float, float]]:
    """The change of the outputs by quantised weights."""
    found = {name: (0.0, 0.0) for name, spec in program.outputs.items() if spec.dtype.is_floating}
    for run in runs:
        results = dict(zip(read.outputs, read.run(_fed(program, read, run.inputs)), strict=True))
        for name, wanted in zip(program.outputs, run.outputs, strict=True):
            if name not in found or wanted.shape != results[name].shape or not wanted.size:
                continue
            got = results[name]
            a, b = wanted.astype(np.float64), got.astype(np.float64)
            with np.errstate(invalid="ignore"):
                gap = np.abs(a - b)
            largest = float(np.max(gap, where=np.isfinite(gap), initial=0.0))
            size = float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0))
            before = found[name]
            found[name] = (
                max(before[0], largest),
                max(before[1], largest / size if size else 0.0),
            )
    return found


def _compare(
    stage: Path,
    program: Program,
    runs: Sequence[Run],
    options: Options,
    drawn: Sequence[str],
    found: _Found,
) -> None:
    runtime = options.runtime
    if runtime is None:
        return
    for backend in runtime.backends:
        lacking: list[str] = []

        def run_all(
            inputs: Sequence[Sequence[Array]], backend: str = backend, lacking: list[str] = lacking
        ) -> Sequence[Mapping[str, Array] | str]:
            feeds = [dict(zip(program.inputs, arrays, strict=True)) for arrays in inputs]
            ran = run_in_node(runtime, backend, stage, feeds, limit_s=program.limit_s)
            if ran.lacking:
                lacking.append(ran.lacking)
                raise _LackingError
            found.checked[backend] = ran.version
            return ran.results

        try:
            name = f"TensorFlow.js ({backend})"
            result = agreement(program, run_all, runs, name, drawn, found.slack)
        except _LackingError:
            found.lacking[backend] = lacking[0]
            continue
        before = found.agreement
        found.agreement = result if before is None else _worse(before, result)


class _LackingError(Exception):
    """A backend has no kernel for an op of the model."""


def _worse(one: Agreement, other: Agreement) -> Agreement:
    return Agreement(
        {name: max(value, other.largest[name]) for name, value in one.largest.items()},
        {name: max(value, other.relative[name]) for name, value in one.relative.items()},
        min(one.batches, other.batches),
        one.kinds,
        {**one.failed, **other.failed},
    )


def _needs_async(topology: Topology) -> bool:
    return any(op in _ASYNC or "NonMaxSuppression" in op for op in topology.op_counts)


def _report(
    program: Program,
    topology: Topology,
    lowered: Lowered,
    options: Options,
    found: _Found,
    size: int,
    files: tuple[str, ...],
    dropped: Mapping[str, int],
    drawn: Sequence[str],
) -> TfjsReport:
    agreed = found.agreement
    return TfjsReport(
        path=os.fspath(options.folder),
        kind=GRAPH_MODEL,
        signature=program.signature,
        inputs=dict(program.inputs),
        outputs=dict(program.outputs),
        output_nodes=dict(topology.output_nodes),
        op_counts=topology.op_counts,
        source_counts=lowered.counts,
        dropped=dict(dropped),
        dtypes=lowered.dtypes,
        weight_bytes=size,
        files=files,
        quantize=options.quantize,
        checked=found.checked,
        lacking=found.lacking,
        differences={}
        if agreed is None
        else {name: (largest, agreed.relative[name]) for name, largest in agreed.largest.items()},
        quantized_differences=found.moved or {},
        batches=0 if agreed is None else agreed.batches,
        compared={} if agreed is None else agreed.kinds,
        failed={} if agreed is None else agreed.failed,
        drawn=tuple(drawn),
        needs_async=_needs_async(topology),
    )
