"""export: freeze, fold, lower, improve, write, run, compare, put in place; a step a function."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.lite.files.serialising import serialised
from pinnace.deploy.lite.flow.lowering import lower
from pinnace.deploy.lite.flow.options import Options, one_kind
from pinnace.deploy.lite.flow.report import LiteReport
from pinnace.deploy.lite.ir.model import Model, Signature
from pinnace.deploy.lite.passes.fusing import improve
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.deploy.program.draws import drawn_outputs
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.mapped_weights import release_all, releasing, trim
from pinnace.deploy.program.sources import find_program, refuse_own_files
from pinnace.deploy.program.states import with_states
from pinnace.deploy.sampling.comparing import agreement
from pinnace.deploy.sampling.corners import corners_of
from pinnace.deploy.sampling.reference import reference
from pinnace.deploy.sampling.samples import WORDS, runs_of
from pinnace.engine.passes.fold import fold
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, NotFoundError
from pinnace.framework.versions import VERSION
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    input_type: str | None = None,
    output_type: str | None = None,
    allow_flex: bool = False,
    verify_timeout_s: float = 60.0,
    tags: str | Sequence[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
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
        input_type: of inputs that are real numbers, with `int8_static`: "float32", "int8" or
            "uint8".
        output_type: of outputs, likewise.
        allow_flex: whether ops without a built-in operator stay TensorFlow's, for apps that have
            its Select TF ops; such a file is not run here.
        verify_timeout_s: the longest that one run of the model in pinnace may take, in seconds.
        tags: which of several graphs of a folder; None takes the only one, or that for serving.
        shapes: of inputs by name, None for a size that may be any; for inputs of unknown rank, and
            where a fixed size is wanted.

    Returns:
        What was written and how well it agrees.

    Raises:
        UnimplementedError: the model has ops that LiteRT has no operators for, named with their
            nodes and the lines that called them; or the file would be larger than 2 GiB.
        NotFoundError: there is no such model or signature, or the folder of `path` does not exist.
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
        kind=one_kind(float16=float16, int8=int8, int8_static=int8_static is not None),
        calibration=int8_static,
        input_type=input_type,
        output_type=output_type,
        allow_flex=allow_flex,
        verify_timeout_s=verify_timeout_s,
        tags=[tags] if isinstance(tags, str) else tags,
        shapes=shapes,
    )
    refuse_own_files(model, path)
    options.check()
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise NotFoundError(f"export: there is no folder for {os.fspath(path)!r}")
    programs = [
        with_states(
            replace(
                find_program(model, key, options.tags, options.shapes), limit_s=verify_timeout_s
            )
        )
        for key in options.signatures
    ]
    weights = [array for program in programs for array in program.weights]
    trim(weights)
    with releasing(weights if all(program.is_ours for program in programs) else ()):
        return _export(programs, options)


@dataclass(frozen=True, slots=True)
class _Converted:
    """A model, and facts about its conversion.

    Attributes:
        drawn: of each program, outputs that depend on numbers that are drawn anew in each run.
    """

    model: Model
    source_counts: dict[str, int]
    dropped: dict[str, int]
    drawn: tuple[tuple[str, ...], ...]


def _export(programs: Sequence[Program], options: Options) -> LiteReport:
    converted = _convert(programs, options)
    content = serialised(converted.model)
    operators = list(converted.model.operators())
    flex = tuple(sorted({one.custom for one in operators if one.custom.startswith("Flex")}))
    words = _words(converted.model)
    wanted = programs if _wants_runs(options, flex) else ()
    runs = [_runs(program, options, words) for program in wanted]
    differences: dict[str, tuple[float, float]] = {}
    kinds: Counter[str] = Counter()
    if options.verify and not flex:
        for way in WAYS:
            interpreter = Interpreter(content, way)
            for program, one, drawn in zip(programs, runs, converted.drawn, strict=True):
                asked = partial(_answers, program, interpreter)
                found = agreement(program, asked, one, f"LiteRT ({way})", drawn)
                kinds.update(found.kinds if way == WAYS[0] else {})
                for name, gap in found.largest.items():
                    before = differences.get(name, (0.0, 0.0))
                    relative = found.relative[name]
                    differences[name] = (max(before[0], gap), max(before[1], relative))
            del interpreter
            release_all()
    precision = None
    if options.kind is not None:
        from pinnace.deploy.lite.smaller.forms import smaller_form

        content, precision = smaller_form(
            converted.model, content, programs, runs, options, is_run=not flex
        )
    report = LiteReport(
        path=None if options.path is None else os.fspath(options.path),
        signatures=tuple(program.signature for program in programs),
        inputs=dict(programs[0].inputs),
        outputs=dict(programs[0].outputs),
        op_counts=_counts(converted.model),
        source_counts=converted.source_counts,
        dropped=converted.dropped,
        differences=differences,
        batches=sum(kinds.values()),
        compared=dict(kinds),
        file_bytes=len(content),
        precision=precision,
        flex=tuple(name.removeprefix("Flex") for name in flex),
        content=content if options.path is None else None,
    )
    if options.path is not None:
        write_file(options.path, content)
    return report


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
    for program in programs:
        frozen = freeze(program)
        folded = replace(fold(frozen.graph), output_names=tuple(program.outputs))
        subgraph, found = lower(folded, program.inputs, flex=options.allow_flex)
        subgraph.name = "main" if not model.signatures else program.signature
        counts.update(found)
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
        model, dict(sorted(counts.items())), dict(sorted(dropped.items())), tuple(drawn)
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
            if tensor.data is not None and tensor.dtype is dtypes.string:
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
