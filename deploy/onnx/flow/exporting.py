"""export: freeze, fold, lower, optimise, write, check, compare, rename; one function per step."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import onnx

from pinnace.deploy.onnx.derived.accuracy import VariantReport
from pinnace.deploy.onnx.derived.artifacts import mobile_files, page_of, smaller_form
from pinnace.deploy.onnx.derived.variants import mobile_paths
from pinnace.deploy.onnx.files.description import describe_model
from pinnace.deploy.onnx.files.staging import Stage, refuse_size, staged
from pinnace.deploy.onnx.files.streaming import Draft
from pinnace.deploy.onnx.flow.lowering import lower
from pinnace.deploy.onnx.flow.options import Options, one_kind
from pinnace.deploy.onnx.passes.pipeline import improve
from pinnace.deploy.onnx.report.changes import Change, applied
from pinnace.deploy.onnx.report.export_report import ExportReport
from pinnace.deploy.onnx.report.files import write_refusal, write_report
from pinnace.deploy.onnx.report.nodes import lines_of, nodes_of
from pinnace.deploy.onnx.verification.checking import (
    Comparison,
    check_structure,
    compare,
    feeds_of,
    open_session,
)
from pinnace.deploy.onnx.verification.compatibility import verdicts
from pinnace.deploy.onnx.verification.profiles import refuse_strangers
from pinnace.deploy.page.contents import Page, check_page
from pinnace.deploy.page.runtimes import ONNX, find_runtime
from pinnace.deploy.page.writing import check_place, write_page
from pinnace.deploy.program.channels_first import with_channels_first
from pinnace.deploy.program.draws import drawn_outputs
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.labels import Labels, labels_of
from pinnace.deploy.program.mapped_weights import release_all, releasing, trim
from pinnace.deploy.program.pixels import Scaling, pixels_of
from pinnace.deploy.program.sample_ranks import (
    refuse_varying,
    unknown_ranks,
    varying_ranks,
    with_ranks,
)
from pinnace.deploy.program.sources import Program, find_program, refuse_own_files
from pinnace.deploy.program.states import with_states
from pinnace.deploy.refusals import ExportRefusedError, with_hint
from pinnace.deploy.sampling.calibration import calibration_feeds
from pinnace.deploy.sampling.corners import corners_of
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import Run, runs_of
from pinnace.engine.passes.fold import fold
from pinnace.framework.errors import OpError
from pinnace.framework.tensor import Array
from pinnace.framework.versions import VERSION
from pinnace.graph.graph import Graph
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from pinnace.deploy.onnx.flow.cutting import Cut

# Models with at least this many bytes of weights are loaded without packed copies of them.
_LARGE = 4 << 20


def export(
    model: object,
    path: str | os.PathLike[str] | None = None,
    signature: str = "serving_default",
    opset: int = 18,
    ir_version: int = 8,
    verify: bool = True,
    *,
    sample: Mapping[str, Any] | None = None,
    float16: bool = False,
    int8: bool = False,
    int8_static: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    external_data: bool | None = None,
    ort: bool = False,
    web: str | os.PathLike[str] | None = None,
    web_runtime: str | os.PathLike[str] | None = None,
    labels: Labels | None = None,
    normalization: Scaling | Mapping[str, Scaling] | None = None,
    report: str | os.PathLike[str] | None = None,
    cut_strings: bool = False,
    profile: str | None = None,
    verify_timeout_s: float = 60.0,
    tags: str | Sequence[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    channels_first: str | Sequence[str] = (),
    allow_random: bool = False,
) -> ExportReport:
    """Write a model as ONNX, checked by onnx.checker, and compare ONNX Runtime's results.

    A smaller variant (at most one of `float16`, `int8`, `int8_static`) is made from the verified
    float32 file; `report.variant` has its differences from it.

    Args:
        model: the folder of a SavedModel, the file of a frozen graph, a Keras model, a
            ConcreteFunction, or the result of `saved_model.load` or
            `saved_model.load_frozen_graph`.
        path: the file to write; None writes none, and the message is in the report.
        signature: the name of the signature; None takes the model's only one.
        opset: the version of the operators, 18 to 26; all runtimes support 18.
        ir_version: the version of the format, 8 to 13.
        verify: whether to load the file in ONNX Runtime and compare the outputs.
        sample: inputs to compare on, by name; None draws random ones. If the model leaves the rank
            of an output unknown, the rank for the sample is taken.
        float16: weights and arithmetic in float16; inputs and outputs keep their types.
        int8: weights of matrix products in int8, activations quantised dynamically: for
            transformers and dense networks.
        int8_static: weights and activations in int8, also of convolutions, with QuantizeLinear and
            DequantizeLinear around each op: a `.npz` file or arrays by input name with examples for
            calibration. Every fifth batch of them is held out for the comparison.
        external_data: whether weights of a kilobyte or more are in a file of their own, `path` with
            the suffix `.data`; None does so if one file cannot hold them, at 2 GiB.
        ort: whether to write also `.ort`, ONNX Runtime's format for phones, and the list of
            operators for a reduced build of it.
        web: the folder for a page that runs the model in the browser and checks itself; it loads
            nothing from other hosts.
        web_runtime: the folder, npm package or project with the files of onnxruntime-web; None
            searches for `node_modules` in the current folder and those above.
        labels: for the page, the names of an output's entries: a file with one per line, the names,
            or either by output name; None looks for `labels.txt` in the folder of `model`.
        normalization: for the page, the scaling of image inputs, (mean, standard deviation) of
            pixels of 0 to 255, or one by input name. None takes it from the model's first layers
            (`Rescaling`, `Normalization`), else 0 to 1.
        report: a `.json` or `.md` file for the report, or for the reasons of a refusal.
        cut_strings: whether to cut off string processing, for which ONNX has few operators: the
            file then takes token ids, and the tokenizer is written beside it as `.tokenizer.json`,
            with the runners `tokenizer.js` and `tokenizer.py`.
        profile: the runtimes that must support the file: "server" (ONNX Runtime since 1.19),
            "node", "browser" (WebAssembly), "webgpu", "phone", or "everywhere" for all but
            "webgpu".
        verify_timeout_s: the time limit of one run of the comparison, in pinnace and in ONNX
            Runtime, in seconds.
        tags: the tags of the graph to take; None takes the only one, or that for serving.
        shapes: shapes of inputs by name, with None for a variable size; for inputs of unknown rank,
            which ONNX lacks, or to fix sizes.
        channels_first: names of inputs that the file takes as [batch, channels, …] and the model as
            [batch, …, channels]; `sample` and calibration examples are channels first too, `shapes`
            refers to the model.
        allow_random: whether ONNX Runtime may draw random numbers for ops without a fixed seed,
            such as dropout in training mode: from the same distribution, but different in every
            run. Outputs that depend on them are compared by dtype and shape only; the report lists
            them.

    Returns:
        The files written, and how well the results agree.

    Raises:
        UnimplementedError: the model has ops that cannot be written in ONNX; the message lists all
            of them with their nodes and the lines that called them.
        NotFoundError: the model, the signature, or the folder of `path` does not exist.
        InvalidArgumentError: an option is wrong, an input has unknown rank, a weight is NaN, the
            calibration examples do not match the inputs, a smaller form would change nothing, or a
            runtime of the profile would not support the file.
        FailedPreconditionError: onnxruntime or its tools are missing, a smaller form gives NaN
            where float32 does not, or an output exceeds float16.
        DeadlineExceededError: a run of the comparison took longer than `verify_timeout_s`.
        InternalError: the file is not valid, or its results differ. Nothing is written.
    """
    options = Options(
        path=path,
        signature=signature,
        opset=opset,
        ir_version=ir_version,
        verify=verify,
        sample=sample,
        kind=one_kind(float16=float16, int8=int8, int8_static=int8_static is not None),
        calibration=int8_static,
        external_data=external_data,
        ort=ort,
        web=web,
        web_runtime=web_runtime,
        labels=labels,
        normalization=normalization,
        report=report,
        cut_strings=cut_strings,
        profile=profile,
        verify_timeout_s=verify_timeout_s,
        tags=[tags] if isinstance(tags, str) else tags,
        shapes=shapes,
        channels_first=(channels_first,) if isinstance(channels_first, str) else channels_first,
        allow_random=allow_random,
    )
    refuse_own_files(model, path)  # gives a better reason than the suffix check
    options.check()
    try:
        found = _export(model, options)
    except OpError as error:
        if report is not None:
            write_refusal(report, error, options)
        raise
    if report is not None:
        write_report(report, found)
    return found


def _export(model: object, options: Options) -> ExportReport:
    found = find_program(model, options.signature, options.tags, options.shapes)
    found = with_channels_first(found, options.channels_first)
    whole = with_states(replace(found, limit_s=options.verify_timeout_s))
    trim(whole.weights)
    cut = _cut(whole, options) if options.cut_strings else None
    program = whole if cut is None else cut.program
    runtime = None
    told: Mapping[str, Sequence[str]] = {}
    if options.web is not None:
        told = labels_of(options.labels, model, program.outputs)
        runtime = find_runtime(ONNX, options.web_runtime)
        check_page(ONNX, program.inputs, program.outputs)
        check_place(options.web)
    given = options.calibration
    examples = None if given is None else calibration_feeds(given, program)
    with staged(options.path) as stage, releasing(whole.weights if whole.is_ours else ()):
        converted = _write(stage, program, options)
        trim(whole.weights)
        names = converted.names
        outline, structure = stage.outline()
        check_structure(outline)
        runs, corners = _run(whole, options, cut)
        comparison = None
        if options.verify:
            session = open_session(outline, lean=converted.weight_bytes > _LARGE)
            comparison = compare(
                program, session, [*runs, *corners], converted.drawn, converted.operators
            )
            del session
            release_all()
        variant = None
        if options.kind is not None:
            structure, variant = _smaller(stage, converted, program, runs, examples, options)
        page = _derive(stage, converted, program, runs, variant, told, options)
        report = ExportReport(
            path=None if options.path is None else os.fspath(options.path),
            signature=program.signature,
            opset=options.opset,
            ir_version=options.ir_version,
            inputs=dict(program.inputs),
            outputs={names[name]: spec for name, spec in program.outputs.items()},
            output_names={name: after for name, after in names.items() if name != after},
            op_counts=dict(sorted(Counter(n.op_type for n in structure.graph.node).items())),
            source_counts=converted.source_counts,
            casts=dict(sorted(converted.casts.items())),
            dropped=converted.dropped if cut is None else cut.dropped,
            improved=converted.improved,
            nodes=nodes_of(structure, converted.origins, converted.lines),
            runtimes=tuple(verdicts(structure, stage.size, is_aside=stage.data is not None)),
            differences=_differences(comparison, names),
            batches=0 if comparison is None else comparison.batches,
            compared={} if comparison is None else comparison.kinds,
            empty={} if comparison is None else comparison.empty,
            file_bytes=stage.size,
            weight_bytes=converted.weight_bytes,
            data_path=_data_path(stage, options),
            variant=variant,
            ort_path=os.fspath(mobile_paths(options.path)[0])
            if options.ort and options.path is not None
            else None,
            channels_first=tuple(options.channels_first),
            drawn=tuple(names[name] for name in converted.drawn),
            tokenizer=None if cut is None else cut.document,
            tokenizer_path=None if cut is None else cut.path,
            _message=stage.message() if options.path is None else None,
        )
        refuse_strangers(options.profile, report.runtimes)
        stage.commit()
        for place, content in page.mobile.items():
            write_file(place, content)
        if cut is not None:
            cut.write()
        if page.web is not None and options.web is not None and runtime is not None:
            write_page(options.web, page.web, runtime)
    return report


def _cut(whole: Program, options: Options) -> "Cut":
    from pinnace.deploy.onnx.flow.cutting import cut_off

    return cut_off(whole, options.opset, options.path)


@dataclass(slots=True)
class _Converted:
    """Facts about the conversion that are reported once the file is written.

    Attributes:
        names: name of an output in the signature -> name in the file.
        operators: the file's operators, including those of bodies.
        drawn: outputs that depend on random numbers.
        pixels: input -> its scaling of pixels.
    """

    names: Mapping[str, str]
    weight_bytes: int
    source_counts: dict[str, int]
    casts: dict[str, int]
    dropped: dict[str, int]
    improved: Change
    origins: dict[str, str]
    lines: dict[str, str]
    operators: frozenset[str]
    drawn: tuple[str, ...]
    pixels: Mapping[str, Scaling]


def _convert(program: Program, options: Options) -> tuple[_Converted, Draft]:
    frozen = freeze(program)
    folded = replace(fold(frozen.graph), output_names=tuple(program.outputs))
    program = _with_ranks(folded, program, options.sample)
    try:
        g, source_counts = lower(
            folded, program.inputs, options.opset, may_draw=options.allow_random
        )
    except ExportRefusedError as error:
        if options.cut_strings:
            raise
        if options.sample is None and set(unknown_ranks(folded)) - varying_ranks(folded):
            error = with_hint(error)
        from pinnace.deploy.onnx.flow.cutting import with_advice

        raise with_advice(error, program, folded) from None
    refuse_varying(folded, [name for name, value in g.outputs if value.shape.rank is None])
    improved = applied(g, improve)
    drawn = drawn_outputs(folded)
    if drawn:
        program = replace(program, facts={**program.facts, "random_outputs": "; ".join(drawn)})
    written = describe_model(g, program, options.ir_version, VERSION)
    converted = _Converted(
        written.output_names,
        written.draft.weight_bytes,
        source_counts,
        g.casts,
        frozen.dropped,
        improved,
        {node.name: node.origin for node in g.all_nodes()},
        lines_of(folded),
        frozenset(node.kind for node in g.all_nodes()),
        drawn,
        pixels_of(folded, program.inputs, options.normalization),
    )
    return converted, written.draft


def _with_ranks(graph: Graph, program: Program, sample: Mapping[str, Any] | None) -> Program:
    """The program with unknown ranks replaced by those of a run on the sample.

    A file must declare ranks. The metadata says that they come from a sample.
    """
    if sample is None or set(sample) != set(program.inputs) or not unknown_ranks(graph):
        return program
    with reference(plain=True):
        (run,) = runs_of(program, sample)
        _, told = with_ranks(graph, program.inputs, run.inputs)
    ranks = {name: array.ndim for name, array in zip(program.outputs, run.outputs, strict=True)}
    said = "; ".join(f"{name}: {ranks[name]}" for name in told) or "of values inside"
    return replace(program, facts={**program.facts, "ranks_of_sample": said})


def _write(stage: Stage, program: Program, options: Options) -> _Converted:
    """Convert and write; the graph is freed afterwards, as later steps need the memory."""
    converted, draft = _convert(program, options)
    for what, is_wanted in (
        (str(options.kind), options.kind is not None),
        ("ort=True", options.ort),
        ("web=FOLDER", options.web is not None),
    ):
        if is_wanted:
            refuse_size(draft.weight_bytes, what, "export without it")
    aside = options.external_data
    if aside is None:
        aside = not draft.fits and options.path is not None
    if not aside and not draft.fits:
        refuse_size(draft.weight_bytes, "one file", "external_data=True, and a path")
    stage.write(draft, aside=aside and draft.has_large)
    return converted


def _run(
    program: Program, options: Options, cut: "Cut | None"
) -> tuple[Sequence[Run], Sequence[Run]]:
    """The runs for all later steps, and further ones at corners, for the comparison only."""
    if not options.needs_runs:
        return (), ()
    corners: Sequence[Run] = ()
    with reference(plain=program.is_ours):
        runs = runs_of(program, options.sample) if cut is None else cut.runs(options.sample)
        if options.verify and options.sample is None and cut is None:
            corners = list(corners_of(program, runs))
    if program.is_ours:
        program.concrete.drop_plan()  # the plan's packed weights are not needed again
    release_all()
    trim(program.weights)
    return runs, corners


def _smaller(
    stage: Stage,
    converted: _Converted,
    program: Program,
    runs: Sequence[Run],
    examples: list[dict[str, Array]] | None,
    options: Options,
) -> tuple[onnx.ModelProto, VariantReport]:
    kind = str(options.kind)
    model, variant = smaller_form(
        kind,
        program,
        stage.message(),
        [converted.names[name] for name in program.outputs],
        feeds_of(program, runs),
        "random" if options.sample is None else "sample",
        examples,
    )
    stage.replace(model.SerializeToString(deterministic=True))
    outline, structure = stage.outline()
    check_structure(outline)
    return structure, variant


@dataclass(frozen=True, slots=True)
class _Derived:
    """The paths of derived files."""

    mobile: Mapping[Any, bytes]
    web: Page | None


def _derive(
    stage: Stage,
    converted: _Converted,
    program: Program,
    runs: Sequence[Run],
    variant: VariantReport | None,
    labels: Mapping[str, Sequence[str]],
    options: Options,
) -> _Derived:
    if not options.ort and options.web is None:
        return _Derived({}, None)
    serialised = stage.content()
    mobile: Mapping[Any, bytes] = {}
    if options.ort and options.path is not None:
        mobile = mobile_files(serialised, program, runs, options.path, variant)
    page = None
    if options.web is not None:
        page = page_of(
            serialised, program, converted.names, runs, variant, labels, converted.pixels
        )
    return _Derived(mobile, page)


def _differences(
    comparison: Comparison | None, names: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    if comparison is None:
        return {}
    return {
        names[name]: (largest, comparison.relative[name])
        for name, largest in comparison.largest.items()
    }


def _data_path(stage: Stage, options: Options) -> str | None:
    if stage.data is None or options.path is None:
        return None
    return f"{os.fspath(options.path)}.data"
