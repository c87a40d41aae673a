"""Splits a model with string inputs into a tokenizer and a program on its outputs."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnace.deploy.onnx.flow.frontier import Frontier, find_frontier
from pinnace.deploy.onnx.flow.lowering import lower
from pinnace.deploy.program.freezing import freeze
from pinnace.deploy.program.sources import Program
from pinnace.deploy.refusals import ExportRefusedError
from pinnace.deploy.sampling.samples import Run, runs_of
from pinnace.deploy.tokenizer.document import document_of, runner_files, text_of_document
from pinnace.deploy.tokenizer.tokenizer import Tensor, Tokenizer, bytes_of, text_of
from pinnace.engine.passes.fold import fold
from pinnace.framework import dtypes
from pinnace.framework.errors import InternalError, InvalidArgumentError, OpError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value
from pinnace.graph.walk import ordered
from pinnace.ops.kernels.philox import key_counter_from_seed, uniform_int
from pinnace.ops.registry import lookup
from pinnace.storage.atomic import write_file

# Pieces that sample texts are made of, beside the words of the vocabulary; some are not UTF-8.
_ASCII = "| |  |\t|\n|\r\n|\v|\0|.|, |!?|-|'s|[x]|(|_|the|The END|I|7|42|0x1F|a,b,,c"
_OTHERS = "ÄÖÜß|éÉ|ΣΊΣΥΦΟΣ|İı|中文|日本 語|я|😀👍🏽|e\u0301|\u00a0|\u2028|\ufeff|\udcff|a\udce4b"
_PIECES = [*_ASCII.split("|"), *_OTHERS.split("|"), "x" * 70]
_TEXTS = 120
_SEED = 20_261_121


@dataclass(frozen=True, slots=True)
class Cut:
    """A program split in two.

    Attributes:
        program: the numerical part.
        whole: the original program.
        document: the content of the JSON file.
        text: the JSON.
        front: the tokenizer's part of the graph, from its inputs to the crossing values.
        dropped: effect that was left out -> number of nodes.
        path: the JSON file; None if none is written.
    """

    program: Program
    whole: Program
    document: Mapping[str, Any]
    text: str
    front: ConcreteFunction
    dropped: dict[str, int]
    path: str | None

    def runs(self, sample: Mapping[str, Any] | None) -> list[Run]:
        """Inputs of the numerical part, made by the reference tokenizer, and the model's outputs.

        Args:
            sample: inputs of the whole model by name; None draws random ones.

        Raises:
            FailedPreconditionError: no inputs were found.
            InternalError: the tokenizer fails, or its results differ from the model's own part.
        """
        reference = Tokenizer(json.loads(self.text))
        words = texts_of(self.document)
        if any(spec.dtype is dtypes.string for spec in self.program.inputs.values()):
            words = np.array([word for word in words if _is_utf8(word)], object)  # as in ONNX
        front = {name: self.whole.inputs[name] for name in self.document["inputs"]}
        if all(spec.dtype is dtypes.string for spec in front.values()):
            self._try(reference, front, words)
        found = []
        for run in runs_of(self.whole, sample, words):
            wide = None if run.wide is None else self._behind(reference, run.wide)
            found.append(Run(self._behind(reference, run.inputs), run.outputs, wide))
        return found

    def _behind(self, reference: Tokenizer, inputs: Sequence[Array]) -> list[Array]:
        """The inputs of the numerical part for inputs of the whole model."""
        given = dict(zip(self.whole.inputs, inputs, strict=True))
        given |= self._numbers(reference, given)
        return [given[name] for name in self.program.inputs]

    def write(self) -> None:
        """Write the JSON file, and the reference runners beside it."""
        if self.path is None:
            return
        for name, content in runner_files().items():
            write_file(Path(self.path).with_name(name), content)
        write_file(self.path, self.text.encode())

    def _try(self, reference: Tokenizer, front: Mapping[str, TensorSpec], words: Array) -> None:
        """Compare the tokenizer alone on every sample text."""
        step = 4
        for start in range(0, len(words) - step, step):
            given = {}
            for name, spec in front.items():
                shape = [step if n is None and not i else n or 1 for i, n in enumerate(spec.shape)]
                given[name] = np.resize(words[start : start + step], shape)
            self._numbers(reference, given)

    def _numbers(self, reference: Tokenizer, given: Mapping[str, Array]) -> dict[str, Array]:
        """The tokenizer's results, checked against the model's."""
        arrays = {name: given[name] for name in self.document["inputs"]}
        try:
            wanted = dict(
                zip(self.document["outputs"], self.front.run(list(arrays.values())), strict=True)
            )
        except OpError:
            return {}  # the model refuses these strings
        try:
            found = reference(**arrays)
        except Exception as error:
            raise InternalError(
                f"export: the tokenizer fails on strings that the model takes: {error}\n  {arrays}"
            ) from error
        numbers = {}
        for name, array in wanted.items():
            numbers[name] = _array(found[name])
            same = numbers[name].dtype == array.dtype and np.array_equal(numbers[name], array)
            if not same:
                raise InternalError(
                    f"export: the tokenizer's values of {name!r} differ from the model's\n"
                    f"  texts: {arrays}\n  model: {array.tolist()}\n  tokenizer: {found[name]}"
                )
        return numbers


def cut_off(program: Program, opset: int, path: str | os.PathLike[str] | None) -> Cut:
    """Split a program where its strings have become numbers.

    Args:
        program: the model.
        opset: the version of the operators.
        path: the ONNX file.

    Raises:
        InvalidArgumentError: the model has no string inputs, or computes no numbers from them.
        ExportRefusedError: an op on strings is supported neither by ONNX nor by tokenizers.
    """
    if all(spec.dtype is not dtypes.string for spec in program.inputs.values()):
        specs = ", ".join(f"{name}: {spec.text}" for name, spec in program.inputs.items())
        raise InvalidArgumentError(
            f"export: cut_strings is for signatures that take strings; this takes {specs}"
        )
    frozen = freeze(program)
    graph = replace(fold(frozen.graph), output_names=tuple(program.outputs))
    frontier = find_frontier(graph, _unconvertible(graph, program, opset))
    if not frontier.values:
        raise InvalidArgumentError(
            "export: cut_strings finds nothing to cut: the model computes no numbers from strings"
        )
    arguments = dict(zip(program.inputs, graph.inputs, strict=True))
    crossing = _named(frontier, arguments, program)
    taken = _taken_by(frontier.nodes)
    inputs = {name: value for name, value in arguments.items() if value in taken}
    document = document_of(frontier.steps, inputs, crossing, program.source)
    text = text_of_document(document)
    front = _part(frontier.nodes, inputs, crossing)
    rest = _rest(graph, program, frontier, arguments, crossing)
    digest = hashlib.sha256(text.encode()).hexdigest()
    facts = {
        **program.facts,
        "tokenizer_inputs": "; ".join(f"{name}: {v.spec.text}" for name, v in inputs.items()),
        "tokenizer_outputs": "; ".join(f"{name}: {v.spec.text}" for name, v in crossing.items()),
        "tokenizer_sha256": digest,
    }
    place = None if path is None else os.fspath(Path(path).with_suffix(".tokenizer.json"))
    if place is not None:
        facts["tokenizer"] = Path(place).name
    rest = replace(rest, facts=facts)
    return Cut(rest, program, document, text, front, frozen.dropped, place)


def with_advice(error: ExportRefusedError, program: Program, graph: Graph) -> ExportRefusedError:
    """The refusal with the advice to cut off strings, if that is possible.

    Args:
        error: the error of `lower`.
        program: the model.
        graph: the graph that was to be lowered.
    """
    if all(spec.dtype is not dtypes.string for spec in program.inputs.values()):
        return error
    names = {name for refusal in error.refusals for name, _ in refusal.nodes}
    try:
        frontier = find_frontier(graph, names)
    except ExportRefusedError:
        return error
    if names <= {node.name for node in frontier.nodes}:
        advice = (
            "\n  Try: cut_strings=True (--cut-strings): the file takes token ids, and a tokenizer "
            "that computes them is written beside it"
        )
        return ExportRefusedError(error.message + advice, error.refusals)
    return error


def texts_of(document: Mapping[str, Any]) -> Array:
    """Sample strings for a tokenizer: its own words and others, in random mixtures."""
    known = [
        key
        for table in document["tables"].values()
        if table["keys"]["dtype"] == "string"
        for key in table["keys"]["data"][:100]
    ]
    pieces = [*_PIECES, *known]
    stream = key_counter_from_seed((_SEED, len(pieces)))
    picks = uniform_int(stream, (_TEXTS, 8), 0, 2 * len(pieces), np.dtype(np.int64)).tolist()
    lengths = uniform_int(stream, (_TEXTS,), 0, 9, np.dtype(np.int64)).tolist()
    found = np.empty(_TEXTS + len(pieces), object)
    # Odd numbers select a piece, even ones a space.
    texts = [
        "".join(pieces[pick // 2] if pick % 2 else " " for pick in row[:length])
        for row, length in zip(picks, lengths, strict=True)
    ]
    found[:] = [bytes_of(text) for text in (*pieces, *texts)]
    return found


def _unconvertible(graph: Graph, program: Program, opset: int) -> set[str]:
    """The names of the nodes that have no ONNX counterpart."""
    try:
        lower(graph, program.inputs, opset)
    except ExportRefusedError as error:
        return {name for refusal in error.refusals for name, _ in refusal.nodes}
    return set()


def _taken_by(nodes: Sequence[Node]) -> set[Value]:
    return {value for node in nodes for value in node.inputs}


def _named(
    frontier: Frontier, arguments: Mapping[str, Value], program: Program
) -> dict[str, Value]:
    """Names of the crossing values: that of the input they depend on, with the suffix `_ids`."""
    sources = {value: {name} for name, value in arguments.items()}
    for node in frontier.nodes:
        made_of = {name for value in node.inputs for name in sources.get(value, ())}
        sources.update(dict.fromkeys(node.outputs, made_of))
    found: dict[str, Value] = {}
    for value in frontier.values:
        texts = [name for name in sources[value] if arguments[name].spec.dtype is dtypes.string]
        start = f"{texts[0]}_" if len(texts) == 1 else ""
        wanted = f"{start}{'ids' if value.dtype.is_integer else 'values'}"
        name, count = wanted, 1
        while name in found or name in program.inputs or name in program.outputs:
            count += 1
            name = f"{wanted}_{count}"
        found[name] = value
    return found


def _part(
    nodes: Sequence[Node],
    inputs: Mapping[str, Value],
    outputs: Mapping[str, Value],
    graph_name: str = "part",
) -> ConcreteFunction:
    """A subgraph as a function."""
    copy = Copy(GraphBuilder(graph_name))
    placeholder = lookup("Placeholder")
    for name, value in inputs.items():
        copy.values[value] = copy.target.add_input(placeholder, value.spec, name)
        copy.nodes[value.node] = ()
    for node in nodes:
        for value in node.inputs:
            if value.node.op.name == "Const" and value not in copy.values:
                copy.node(value.node)
        copy.node(node)
    copy.target.set_outputs([copy.values[value] for value in outputs.values()], outputs)
    specs = {name: _spec(name, value) for name, value in inputs.items()}
    results = {name: _spec(name, value) for name, value in outputs.items()}
    return ConcreteFunction(copy.target.finish(), (), ((), specs), results, by_name=True)


def _spec(name: str, value: Value) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype, name=name)


def _rest(
    graph: Graph,
    program: Program,
    frontier: Frontier,
    arguments: Mapping[str, Value],
    crossing: Mapping[str, Value],
) -> Program:
    """The program behind the cut."""
    gone = {*frontier.nodes, *(value.node for value in graph.inputs)}
    nodes = [node for node in ordered(graph) if node not in gone]
    taken = _taken_by(nodes) | set(graph.outputs)
    kept = {
        name: value
        for name, value in arguments.items()
        if value in taken or value.dtype is not dtypes.string
    }
    inputs = {**crossing, **kept}
    outputs = dict(zip(program.outputs, graph.outputs, strict=True))
    own = [node for node in nodes if node.op.name != "Const"]
    concrete = _part(own, inputs, outputs, graph.name)
    specs = {name: program.outputs[name] for name in outputs}
    return replace(
        program,
        concrete=concrete,
        inputs={name: _spec(name, value) for name, value in inputs.items()},
        outputs=specs,
        states=(),
    )


def _is_utf8(item: bytes) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in text_of(item))


def _array(found: Tensor) -> Array:
    dtype = dtypes.as_dtype(found.dtype)
    return np.array(found.data, dtype.numpy).reshape(found.shape)
