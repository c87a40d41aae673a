"""export: freeze, fold, lower, improve, serialise, run, compare, write; one function per step."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.serialising import in_pieces
from pinnace.deploy.lite.flow.lowering import lower
from pinnace.deploy.lite.flow.options import Options, one_kind
from pinnace.deploy.lite.flow.page import page_of
from pinnace.deploy.lite.flow.report import LiteReport
from pinnace.deploy.lite.ir.model import Model, Signature
from pinnace.deploy.lite.metadata.keeping import kept_in
from pinnace.deploy.lite.metadata.making import (
    Known,
    metadata_of,
    read_given,
    told_by,
    vocabularies_of,
)
from pinnace.deploy.lite.metadata.packing import check_readable, packed
from pinnace.deploy.lite.passes.fusing import improve
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.deploy.page.runtimes import LITE, find_runtime
from pinnace.deploy.page.writing import check_place, write_page
from pinnace.deploy.program.draws import drawn_outputs
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.labels import labels_of
from pinnace.deploy.program.mapped_weights import release_all, releasing, trim
from pinnace.deploy.program.pixels import pixels_of
from pinnace.deploy.program.sources import find_program, refuse_own_files
from pinnace.deploy.program.states import with_states
from pinnace.deploy.sampling.comparing import agreement
from pinnace.deploy.sampling.corners import corners_of
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import WORDS, runs_of
from pinnace.engine.passes.fold import fold
from pinnace.engine.passes.neutral import without_neutral
from pinnace.engine.passes.powers import multiplied
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, InvalidArgumentError, NotFoundError
from pinnace.framework.versions import VERSION
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.metadata.making import Given, Vocabulary
    from pinnace.deploy.lite.metadata.packing import Metadata
    from pinnace.deploy.page.runtimes import Found
    from pinnace.deploy.program.labels import Labels
    from pinnace.deploy.program.pixels import Scaling
    from pinnace.deploy.program.sources import Program
    from pinnace.deploy.sampling.samples import Run
    from pinnace.framework.tensor import Array

# The number of a model's own strings that samples are drawn from.
_KNOWN_WORDS = 12


def export(
    model: object,
    path: str | os.PathLike[str] | None = None,
    signature: str | Sequence[str] = "serving_default",
    verify: bool = True,
    *,
    sample: Mapping[str, Any] | None = None,
    float16: bool = False,
    int8: bool = False,
    int8_static: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    int16_static: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    input_type: str | None = None,
    output_type: str | None = None,
    allow_flex: bool = False,
    fused_lstm: bool = False,
    verify_timeout_s: float = 60.0,
    tags: str | Sequence[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
    web: str | os.PathLike[str] | None = None,
    web_runtime: str | os.PathLike[str] | None = None,
    metadata: Given | bool | None = None,
    labels: Labels | None = None,
    vocabulary: Vocabulary | None = None,
    normalization: Scaling | Mapping[str, Scaling] | None = None,
) -> LiteReport:
    """Write a model as a .tflite file, and compare LiteRT's results with pinnace's.

    Args:
        model: the folder of a SavedModel, the file of a frozen graph, a Keras model, a
            ConcreteFunction, or the result of `saved_model.load` or
            `saved_model.load_frozen_graph`.
        path: the file to write; None writes none, and its bytes are in the report.
        signature: the name of a signature, or several; None takes the model's only one.
        verify: whether to run the file, with XNNPACK and without, and compare the outputs.
        sample: inputs to compare on, by name; None draws random ones.
        float16: weights in float16, converted to float32 where they are used.
        int8: weights in int8, with a scale for each output channel; activations stay float32.
        int8_static: weights and activations in int8; a `.npz` file or arrays by input name with
            examples for calibration.
        int16_static: activations in int16 and weights in int8, with examples as for `int8_static`.
        input_type: the type of float inputs: "float32"; with `int8_static` also "int8" and "uint8",
            with `int16_static` also "int16".
        output_type: the type of float outputs; the same values.
        allow_flex: whether ops without a built-in operator remain TensorFlow ops, for apps with
            the Select TF ops library; such a file is not run here.
        fused_lstm: whether an LSTM layer becomes the operator UNIDIRECTIONAL_SEQUENCE_LSTM instead
            of a loop. LiteRT's interpreter runs it; LiteRT.js and the CompiledModel API cannot load
            such a file.
        verify_timeout_s: the longest time for one run of the model in pinnace, in seconds.
        tags: the tags of the graph to take; None takes the only one, or that for serving.
        shapes: shapes of inputs by name, with None for a variable size; for inputs of unknown rank,
            or to fix sizes.
        web: the folder for a page that runs the first signature in the browser and checks itself;
            it loads nothing from other hosts.
        web_runtime: the folder with `node_modules`, or that folder itself, with `@litertjs/core`;
            None searches the current folder and those above.
        metadata: metadata for apps, as TFLite Support and MediaPipe read them: a document of
            ModelMetadata, or the path of one as JSON, with tensors identified by name and
            associated files beside it. Entries that it lacks come from the model; None takes all
            from the model, False writes no metadata.
        labels: the names of an output's entries: a file with one per line, the names, or either by
            output name; None looks for `labels.txt` in the folder of `model`.
        vocabulary: a file with the words that an input's ids stand for, or one by input name.
        normalization: the scaling of image inputs, (mean, standard deviation) of pixels of 0 to
            255, or one by input name. None takes it from the model's first layers (`Rescaling`,
            `Normalization`).

    Returns:
        The contents of the file, and how well its results agree.

    Raises:
        UnimplementedError: the model has ops without an operator in LiteRT, which the message lists
            with their nodes and the lines that called them; or the file would be larger than 2 GiB;
            or LiteRT.js lacks the type of an input or output of the page.
        NotFoundError: the model, signature, or a file does not exist, LiteRT.js for the page is not
            found, or the folder of `path` does not exist.
        InvalidArgumentError: an option is wrong, an input has unknown rank, a weight is NaN, or the
            calibration examples do not match the inputs.
        FailedPreconditionError: ai-edge-litert is missing.
        InternalError: the file's results differ from the model's. Nothing is written.
    """
    options = Options(
        path=path,
        signature=signature,
        verify=verify,
        sample=sample,
        kind=one_kind(
            float16=float16,
            int8=int8,
            int8_static=int8_static is not None,
            int16_static=int16_static is not None,
        ),
        calibration=int16_static if int8_static is None else int8_static,
        input_type=input_type,
        output_type=output_type,
        allow_flex=allow_flex,
        fused_lstm=fused_lstm,
        verify_timeout_s=verify_timeout_s,
        tags=[tags] if isinstance(tags, str) else tags,
        shapes=shapes,
        web=web,
        web_runtime=web_runtime,
        metadata=metadata,
        labels=labels,
        vocabulary=vocabulary,
        normalization=normalization,
    )
    refuse_own_files(model, path)
    options.check()
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise NotFoundError(f"export: the folder of {os.fspath(path)!r} does not exist")
    runtime = None
    if web is not None:
        check_place(web)
        runtime = find_runtime(LITE, web_runtime)
    programs = [
        with_states(
            replace(
                find_program(model, key, options.tags, options.shapes), limit_s=verify_timeout_s
            )
        )
        for key in options.signatures
    ]
    known = _known(model, programs[0], options)
    weights = [array for program in programs for array in program.weights]
    trim(weights)
    with releasing(weights if all(program.is_ours for program in programs) else ()):
        return _export(programs, options, known, runtime)


def _known(model: object, program: Program, options: Options) -> Known:
    """Facts about the model beside its signatures, from the model and the user."""
    if options.web is not None and program.states:
        raise InvalidArgumentError(
            "export: the model has state between runs, which a page cannot keep"
        )
    given = options.metadata
    return Known(
        labels=labels_of(options.labels, model, program.outputs),
        is_found=(options.labels is None, options.normalization is None),
        vocabularies=vocabularies_of(options.vocabulary, program),
        given=None if given is None or isinstance(given, bool) else read_given(given),
        kept=kept_in(model),
    )


@dataclass(frozen=True, slots=True)
class _Converted:
    """A converted model, and facts about its conversion.

    Attributes:
        drawn: for each program, the outputs that depend on random numbers.
        pixels: input of the first program -> its scaling of pixels.
        loops: node of an LSTM loop -> why `fused_lstm` did not make it one operator.
    """

    model: Model
    source_counts: dict[str, int]
    dropped: dict[str, int]
    drawn: tuple[tuple[str, ...], ...]
    pixels: dict[str, Scaling]
    loops: dict[str, str]

    @property
    def flex(self) -> tuple[str, ...]:
        """The operators that remain TensorFlow ops."""
        names = {one.custom for one in self.model.operators()}
        return tuple(sorted(name for name in names if name.startswith("Flex")))


def _export(
    programs: Sequence[Program], options: Options, known: Known, runtime: Found | None
) -> LiteReport:
    converted = _convert(programs, options)
    known = replace(known, pixels=converted.pixels)
    told = None if options.metadata is False else metadata_of(programs, known)
    file = in_pieces(converted.model)
    is_run_or_changed = options.verify or options.kind is not None or told is not None
    if is_run_or_changed or options.path is None or options.web is not None:
        return _looked_at(programs, options, known, runtime, converted, file.whole(), told)
    write_file(options.path, file.write_to)  # in pieces, so that the whole file is never in memory
    return _report(programs, options, converted, len(file))


def _looked_at(
    programs: Sequence[Program],
    options: Options,
    known: Known,
    runtime: Found | None,
    converted: _Converted,
    content: bytes,
    told: Metadata | None,
) -> LiteReport:
    """Verify a file, quantise it, add metadata and a page, and write it."""
    flex = converted.flex
    words = _words(converted.model)
    wanted = programs if _wants_runs(options, flex) else ()
    runs = [_runs(program, options, words) for program in wanted]
    differences: dict[str, tuple[float, float]] = {}
    kinds: Counter[str] = Counter()
    if options.verify and not flex:
        kinds = _compare(programs, runs, content, converted.drawn, differences)
    precision = None
    if options.kind is not None:
        from pinnace.deploy.lite.smaller.forms import smaller_form

        converted.model.settle()
        content, precision = smaller_form(
            converted.model, content, programs, runs, options, is_run=not flex
        )
    page = None
    if options.web is not None:
        if told is not None:
            labels, pixels = told_by(told, programs[0])
            known = replace(known, labels=labels, pixels=pixels)
        page = page_of(content, programs[0], known, options.sample, precision, flex)
    if told is not None:
        content = packed(content, told)
        check_readable(content, told)
    if options.path is not None:
        write_file(options.path, content)
    if page is not None and options.web is not None and runtime is not None:
        write_page(options.web, page, runtime)
    return replace(
        _report(programs, options, converted, len(content)),
        differences=differences,
        batches=sum(kinds.values()),
        compared=dict(kinds),
        precision=precision,
        metadata=None if told is None else told.document,
        files=() if told is None else tuple(told.files),
        content=content if options.path is None else None,
    )


def _report(
    programs: Sequence[Program],
    options: Options,
    converted: _Converted,
    size: int,
) -> LiteReport:
    """The report of an export."""
    return LiteReport(
        path=None if options.path is None else os.fspath(options.path),
        signatures=tuple(program.signature for program in programs),
        inputs=dict(programs[0].inputs),
        outputs=dict(programs[0].outputs),
        op_counts=_counts(converted.model),
        source_counts=converted.source_counts,
        dropped=converted.dropped,
        loops=converted.loops,
        differences={},
        batches=0,
        compared={},
        file_bytes=size,
        flex=tuple(name.removeprefix("Flex") for name in converted.flex),
    )


def _compare(
    programs: Sequence[Program],
    runs: Sequence[Sequence[Run]],
    content: bytes,
    drawn: Sequence[tuple[str, ...]],
    differences: dict[str, tuple[float, float]],
) -> Counter[str]:
    """Run the file with and without XNNPACK; return the number of comparisons by kind of inputs."""
    kinds: Counter[str] = Counter()
    for way in WAYS:
        interpreter = Interpreter(content, way)
        for program, one, random in zip(programs, runs, drawn, strict=True):
            asked = partial(_answers, program, interpreter)
            found = agreement(program, asked, one, f"LiteRT ({way})", random)
            kinds.update(found.kinds if way == WAYS[0] else {})
            for name, gap in found.largest.items():
                before = differences.get(name, (0.0, 0.0))
                relative = found.relative[name]
                differences[name] = (max(before[0], gap), max(before[1], relative))
        del interpreter
        release_all()
    return kinds


def _counts(model: Model) -> dict[str, int]:
    counts = Counter(one.custom or one.kind for one in model.operators())
    return dict(sorted(counts.items()))


def _wants_runs(options: Options, flex: tuple[str, ...]) -> bool:
    return (options.verify or options.kind is not None) and not flex


def _convert(programs: Sequence[Program], options: Options) -> _Converted:
    model = Model([], f"written by pinnace {VERSION}")
    counts: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    drawn = []
    loops: dict[str, str] = {}
    pixels: dict[str, Scaling] = {}
    for program in programs:
        frozen = freeze(program)
        folded = replace(fold(frozen.graph), output_names=tuple(program.outputs))
        # The engine's own simplifications: each step removed here is an operator less.
        short = replace(multiplied(without_neutral(folded)), output_names=folded.output_names)
        subgraph, found, stayed = lower(
            short, program.inputs, flex=options.allow_flex, fused_lstm=options.fused_lstm
        )
        subgraph.name = "main" if not model.signatures else program.signature
        if program is programs[0]:
            pixels = pixels_of(folded, program.inputs, options.normalization)
        counts.update(found)
        loops.update(stayed)
        dropped.update(frozen.dropped)
        drawn.append(drawn_outputs(folded))
        inputs = dict(zip(program.inputs, subgraph.inputs, strict=True))
        outputs = dict(zip(program.outputs, subgraph.outputs, strict=True))
        model.signatures.append(Signature(program.signature, inputs, outputs, subgraph))
    improve(model)
    for signature in model.signatures:  # passes may have replaced tensors
        names = list(signature.outputs)
        signature.outputs = dict(zip(names, signature.subgraph.outputs, strict=True))
    return _Converted(
        model,
        dict(sorted(counts.items())),
        dict(sorted(dropped.items())),
        tuple(drawn),
        pixels,
        loops,
    )


def _answers(
    program: Program, interpreter: Interpreter, runs: Sequence[Sequence[Array]]
) -> list[dict[str, Array]]:
    found = []
    for arrays in runs:
        feeds = dict(zip(program.inputs, arrays, strict=True))
        found.append(interpreter.run(feeds, program.signature))
        for name, spec in program.outputs.items():
            if spec.dtype is not dtypes.string and found[-1][name].dtype != spec.dtype.numpy:
                raise InternalError(
                    f"export: output {name!r} is {found[-1][name].dtype} in LiteRT, "
                    f"{spec.dtype.name} in pinnace"
                )
    return found


def _words(model: Model) -> Array:
    """Strings for samples: common ones, and some of the model's own."""
    known: dict[bytes, None] = {}
    for subgraph in model.subgraphs():
        for tensor in subgraph.tensors():
            if tensor.dtype is dtypes.string and tensor.data is not None:
                known.update(dict.fromkeys(tensor.data.reshape(-1)[:_KNOWN_WORDS].tolist()))
    return np.array([*WORDS, *list(known)[:_KNOWN_WORDS]], object)


def _runs(program: Program, options: Options, words: Array) -> list[Run]:
    """Sample inputs, and the model's own outputs for them."""
    with reference(plain=program.is_ours):
        runs = list(runs_of(program, options.sample, words))
        if options.verify and options.sample is None:
            # LiteRT takes no empty tensors.
            runs += [run for run in corners_of(program, runs) if all(x.size for x in run.inputs)]
    if program.is_ours:
        program.concrete.drop_plan()
    release_all()
    return runs
