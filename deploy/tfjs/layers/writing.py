"""export_layers: a Keras model as a layers model, run in TensorFlow.js and compared."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.labels import Labels
from pinnace.deploy.program.pixels import Scaling
from pinnace.deploy.program.sources import Program, find_program
from pinnace.deploy.sampling.comparing import Agreement, agreement
from pinnace.deploy.sampling.corners import corners_of
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import Run, runs_of
from pinnace.deploy.tfjs.checks.node import NodeRuntime, run_in_node
from pinnace.deploy.tfjs.exporting import check_options, check_page_options, runtime_for
from pinnace.deploy.tfjs.files.folder import check_target, staged_folder, write_model
from pinnace.deploy.tfjs.files.page import PageOptions, page_options, write_tfjs_page
from pinnace.deploy.tfjs.files.weights import SHARD_BYTES, Quantization, write_weights
from pinnace.deploy.tfjs.layers.configs import layers_config
from pinnace.deploy.tfjs.layers.reading import load_layers
from pinnace.deploy.tfjs.layers.weights import named_weights
from pinnace.deploy.tfjs.reading import LAYERS
from pinnace.deploy.tfjs.report import TfjsReport, write_report
from pinnace.engine.passes.fold import fold
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, Tensor
from pinnace.framework.versions import VERSION
from pinnace.functions.tracing import trace
from pinnace.keras import registry
from pinnace.keras.models.model import Model

# The version in the configuration, by which readers distinguish it from Keras 3.
_FORM = "2.15.0"


def export_layers(
    model: object,
    folder: str | os.PathLike[str],
    *,
    quantize: Quantization | None = None,
    shard_bytes: int = SHARD_BYTES,
    verify: bool = True,
    runtime: str | os.PathLike[str] | None = None,
    sample: Mapping[str, Any] | None = None,
    report: str | os.PathLike[str] | None = None,
    verify_timeout_s: float = 60.0,
    page: bool = False,
    labels: Labels | None = None,
    normalization: Scaling | Mapping[str, Scaling] | None = None,
) -> TfjsReport:
    """Write a Keras model as a layers model of TensorFlow.js, which can be trained there.

    Weights, and everything that inference needs, are written; initialisers, regularisers,
    constraints and the optimizer are not.

    Args:
        model: a sequential or functional model, or its `.keras` or `.h5` file.
        folder: the folder for `model.json` and the weight shards; an earlier model is replaced.
        quantize: the storage of float32 weights, see `export`.
        shard_bytes: the size of a weight file.
        verify: whether to run the model in TensorFlow.js and compare the outputs.
        runtime: see `export`.
        sample: inputs to compare on, by the names of the input layers; None draws random ones.
        report: a `.json` or `.md` file for the report.
        verify_timeout_s: the time limit of one run of the comparison, in seconds.
        page: whether to add a web page, see `export`.
        labels: for the page, see `export`.
        normalization: for the page, see `export`.

    Returns:
        The files written, and how well the results agree.

    Raises:
        UnimplementedError: the model has layers or arguments that TensorFlow.js lacks.
        NotFoundError: TensorFlow.js is not installed for the page, or `runtime` does not have it.
        InvalidArgumentError: an option is wrong, or `model` is not a Keras model.
        FailedPreconditionError: the folder contains other files.
        InternalError: the results differ from the model's. Nothing is written.
    """
    check_options(quantize, shard_bytes)
    check_page_options(page=page, labels=labels, normalization=normalization)
    check_target(folder)
    keras_model = _model_of(model)
    config = layers_config(registry.serialize_keras_object(keras_model), keras_model.name)
    program = program_of(keras_model, verify_timeout_s)
    weights = {name: v.numpy() for name, v in named_weights(keras_model).items()}
    node = runtime_for(runtime, verify=verify)
    shown = page_options(program, model, runtime, labels, normalization) if page else None
    with staged_folder(folder) as stage:
        manifest, size = write_weights(stage, weights, quantize, shard_bytes)
        topology = {"keras_version": _FORM, "backend": "tensorflow", "model_config": config}
        write_model(
            stage,
            {
                "format": LAYERS,
                "generatedBy": "pinnace",
                "convertedBy": f"pinnace {VERSION}",
                "modelTopology": topology,
                "weightsManifest": manifest,
            },
        )
        found = _Found({}, {})
        read = program
        if quantize is not None and (node is not None or page):
            read = program_of(load_layers(stage), verify_timeout_s)
        if node is not None:
            found = _check(stage, read, node, sample)
        if shown is not None:
            _write_page(stage, program, read, node, sample, shown, quantize)
        files = tuple(sorted(one.name for one in stage.iterdir()))
    agreed = found.agreement
    told = TfjsReport(
        path=os.fspath(folder),
        kind=LAYERS,
        signature="",
        inputs=dict(program.inputs),
        outputs=dict(program.outputs),
        weight_bytes=size,
        files=files,
        quantize=quantize,
        checked=found.checked,
        lacking=found.lacking,
        differences={}
        if agreed is None
        else {name: (largest, agreed.relative[name]) for name, largest in agreed.largest.items()},
        batches=0 if agreed is None else agreed.batches,
        compared={} if agreed is None else agreed.kinds,
        failed={} if agreed is None else agreed.failed,
    )
    if report is not None:
        write_report(report, told)
    return told


def _write_page(
    stage: Path,
    program: Program,
    read: Program,
    node: NodeRuntime | None,
    sample: Mapping[str, Any] | None,
    options: PageOptions,
    kind: Quantization | None,
) -> None:
    """Write the page.

    Args:
        stage: the model's folder.
        program: the model.
        read: the model with the weights in the folder.
        node: Node, to leave out runs that TensorFlow.js does not take; None keeps all.
        sample: inputs to show.
        options: the page's options.
        kind: the storage of the weights.
    """
    with reference(plain=True):
        runs = list(runs_of(read, sample))
    if node is not None:
        feeds = [dict(zip(read.inputs, run.inputs, strict=True)) for run in runs]
        ran = run_in_node(node, "cpu", stage, feeds, kind="layers", limit_s=program.limit_s)
        pairs = zip(runs, ran.results, strict=False)
        runs = [run for run, result in pairs if not isinstance(result, str)]
    graph = fold(freeze(program).graph)
    write_tfjs_page(stage, program, graph, runs, options, kind=kind, layers=True)


def _model_of(model: object) -> Model:
    if isinstance(model, (str, os.PathLike)):
        from pinnace.keras.saving import load_model

        place = Path(model)
        if place.suffix.lower() not in (".keras", ".h5", ".hdf5"):
            raise InvalidArgumentError(
                f"export: a layers model needs Keras layers, which {os.fspath(model)!r} does "
                "not have\n  Try: a .keras or .h5 file, or a graph model (--tfjs)"
            )
        model = load_model(place, compile=False)
    if not isinstance(model, Model):
        raise InvalidArgumentError(
            f"export: a layers model needs a Keras model, got {type(model).__name__}"
        )
    if not model.built:
        raise InvalidArgumentError(
            "export: the model is not built yet: it has no weights\n  Try: model.build(input_shape)"
        )
    return model


def program_of(model: Any, limit_s: float) -> Program:
    """The model as a function of its inputs, named after its input layers."""
    from dataclasses import replace

    names = [_input_name(one) for one in model.inputs]
    specs = tuple(
        TensorSpec(one.shape, one.dtype, name)
        for one, name in zip(model.inputs, names, strict=True)
    )

    def call(*tensors: Tensor) -> list[Tensor]:
        given = tensors[0] if len(tensors) == 1 else list(tensors)
        results = model(given, training=False)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    found = find_program(trace(call, specs, {}, "layers_model")[0], "layers")
    renamed = dict(zip(names, found.inputs.values(), strict=True))
    return replace(found, inputs=renamed, limit_s=limit_s, source=str(model.name))


def _input_name(tensor: Any) -> str:
    return str(tensor._keras_history.operation.name)


@dataclass(slots=True)
class _Found:
    checked: dict[str, str]
    lacking: dict[str, str]
    agreement: Agreement | None = None


def _check(
    stage: Path, program: Program, node: NodeRuntime, sample: Mapping[str, Any] | None
) -> _Found:
    found = _Found({}, {})
    with reference(plain=True):
        runs: list[Run] = list(runs_of(program, sample))
        if sample is None:
            runs += corners_of(program, runs)
    order = list(program.outputs)
    feeds = [dict(zip(program.inputs, run.wide or run.inputs, strict=True)) for run in runs]
    for backend in node.backends:
        ran = run_in_node(node, backend, stage, feeds, kind="layers", limit_s=program.limit_s)
        if ran.lacking:
            found.lacking[backend] = ran.lacking
            continue
        results: Sequence[Mapping[str, Array] | str] = [
            one if isinstance(one, str) else {order[int(key)]: x for key, x in one.items()}
            for one in ran.results
        ]

        def answered(
            _: object, results: Sequence[Mapping[str, Array] | str] = results
        ) -> Sequence[Mapping[str, Array] | str]:
            return results

        found.checked[backend] = ran.version
        name = f"TensorFlow.js ({backend})"
        found.agreement = agreement(program, answered, runs, name)
    return found
