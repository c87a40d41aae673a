"""export: freeze, fold, lower, improve, write, run, compare, put in place; a step a function."""

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

# Strings of a model that it is asked about.
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
    """Write a model as a .tflite file, run by LiteRT's interpreter and compared with pinnace.

    Args:
        model: the folder of a SavedModel, the file of a frozen graph, what `saved_model.load` or
            `saved_model.load_frozen_graph` gave, a Keras model, or a ConcreteFunction.
        path: of the file; None writes none, its bytes are in the report.
        signature: which one, or several; of a model with one signature that one, whatever its name.
        verify: whether the interpreter is asked for the same outputs, with XNNPACK and without.
        sample: inputs to compare on, by name; None draws some.
        float16: weights in half precision, which are widened where they are used.
        int8: weights in 8 bits, those of each output channel with a scale of their own; numbers
            between operators stay float32.
        int8_static: everything in 8 bits: the `.npz` file, or the arrays by input, of examples to
            find the ranges with.
        int16_static: numbers between operators in 16 bits and weights in 8, likewise.
        input_type: of inputs that are real numbers: "float32"; with `int8_static` also "int8" and
            "uint8", with `int16_static` "int16".
        output_type: of outputs, likewise.
        allow_flex: whether ops without a built-in operator stay TensorFlow's, for apps that have
            its Select TF ops; such a file is not run here.
        fused_lstm: whether an LSTM layer becomes the operator UNIDIRECTIONAL_SEQUENCE_LSTM instead
            of a loop. LiteRT's interpreter runs it; LiteRT.js and the CompiledModel API load no
            file that has it.
        verify_timeout_s: the longest that one run of the model in pinnace may take, in seconds.
        tags: which of several graphs of a folder; None takes the only one, or that for serving.
        shapes: of inputs by name, None for a size that may be any; for inputs of unknown rank, and
            where a fixed size is wanted.
        web: folder for a page that runs the first signature in the browser and checks itself; it
            loads nothing from elsewhere.
        web_runtime: the folder with `node_modules`, or that folder, with `@litertjs/core`; None
            looks for it here and above.
        metadata: what the file tells apps about itself, as TFLite Support and MediaPipe read it: a
            document of ModelMetadata, or the path of one as JSON, whose tensors are told by name;
            its associated files stand beside it. What it does not say is what the model knows; None
            adds nothing to that, False writes no metadata.
        labels: the names of an output's entries: a file with one a line, the names, or one of these
            by output; None looks for `labels.txt` in the folder of `model`.
        vocabulary: a file with the words that an input's numbers stand for, or one by input.
        normalization: what pictures become: (mean, standard deviation), which pixels of 0 to 255
            are less, and divided by, or that by input. None: what the model begins with says it
            (`Rescaling`, `Normalization`).

    Returns:
        What was written and how well it agrees.

    Raises:
        UnimplementedError: the model has ops that LiteRT has no operators for, named with their
            nodes and the lines that called them; or the file would be larger than 2 GiB, or
            LiteRT.js has no tensors of an input or output of the page.
        NotFoundError: there is no such model, signature or file, no LiteRT.js for the page, or the
            folder of `path` does not exist.
        InvalidArgumentError: a wrong option, an input of unknown rank, a weight that is NaN, or a
            calibration that does not fit.
        FailedPreconditionError: ai-edge-litert is missing.
        InternalError: what was made differs from the model. Nothing is written.
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
        raise NotFoundError(f"export: there is no folder for {os.fspath(path)!r}")
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
    """What the model and the user tell beside its signatures, before any work is done."""
    if options.web is not None and program.states:
        raise InvalidArgumentError(
            "export: a page keeps no state between runs, which the model has"
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
    """A model, and facts about its conversion.

    Attributes:
        drawn: of each program, outputs that depend on numbers that are drawn anew in each run.
        pixels: input of the first program -> what of pixels it takes.
        loops: node of a loop that is an LSTM -> what keeps it from being one operator, with
            `fused_lstm`.
    """

    model: Model
    source_counts: dict[str, int]
    dropped: dict[str, int]
    drawn: tuple[tuple[str, ...], ...]
    pixels: dict[str, Scaling]
    loops: dict[str, str]

    @property
    def flex(self) -> tuple[str, ...]:
        """The operators that stayed TensorFlow's."""
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
    write_file(options.path, file.write_to)  # piece by piece, so that it is never in memory
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
    """Run a file, make it smaller, give it metadata and a page, and write it."""
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
    """What was converted, and how large the file is."""
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
    """Run the file in both ways: how many sets of each kind of inputs, and what differs."""
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
        # What the engine runs: each step that is left out here is an operator less.
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
    for signature in model.signatures:  # the passes may have put others in their places
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
    """What strings are drawn from: some that the model knows among them."""
    known: dict[bytes, None] = {}
    for subgraph in model.subgraphs():
        for tensor in subgraph.tensors():
            if tensor.dtype is dtypes.string and tensor.data is not None:
                known.update(dict.fromkeys(tensor.data.reshape(-1)[:_KNOWN_WORDS].tolist()))
    return np.array([*WORDS, *list(known)[:_KNOWN_WORDS]], object)


def _runs(program: Program, options: Options, words: Array) -> list[Run]:
    """Inputs, and the model's own answers."""
    with reference(plain=program.is_ours):
        runs = list(runs_of(program, options.sample, words))
        if options.verify and options.sample is None:
            # LiteRT takes no tensors without elements.
            runs += [run for run in corners_of(program, runs) if all(x.size for x in run.inputs)]
    if program.is_ours:
        program.concrete.drop_plan()
    release_all()
    return runs
