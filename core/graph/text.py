"""Graphs as text, and back, for tests, error messages and inspection.

    f(x: float32[?, 3], w: resource of float32[3, 2]):
      read: float32[3, 2] = ReadVariableOp(w, dtype=float32)
      product: float32[?, 2] = MatMul(x, read)
      parts: (float32[?, 1], float32[?, 1]) = Split(1, product, num_split=2)
      done = NoOp(^read)
      return y=product, z=parts:1
      effects done

A line is a node: its name, the specs of its outputs (inferred if left out), its op, its inputs, its
controls, and the attributes that neither follow from the inputs nor have their defaults. A scalar
or a nested list as an input is a constant.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import array_of
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.specs import parse as parse_spec
from pinnace.framework.visible_text import visible_line
from pinnace.graph.graph import FunctionRef, Graph, GraphBuilder, Node, Value
from pinnace.graph.walk import ordered
from pinnace.ops import registry
from pinnace.ops.array.constants import CONST, PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.ops.opdef import OpDef

_SMALL = 16  # elements of a constant that is shown whole


def text_of(graph: Graph, functions: bool = False) -> str:
    """A graph as text: the nodes that outputs and effects need, in topological order.

    Args:
        graph: the graph.
        functions: whether the functions it calls follow, each once.
    """
    shown = [graph]
    if functions:
        for one in shown:
            shown.extend(ref.graph for ref in one.functions() if ref.graph not in shown)
    return "\n".join(_one_text(one) for one in shown)


def _one_text(graph: Graph) -> str:
    arguments = ", ".join(f"{value.node.name}: {_argument_text(value)}" for value in graph.inputs)
    lines = [f"{graph.name}({arguments}):"]
    given = {value.node for value in graph.inputs}
    lines.extend(f"  {_node_text(node)}" for node in ordered(graph) if node not in given)
    results = (
        f"{name}={_value_text(value)}"
        for name, value in zip(graph.output_names, graph.outputs, strict=True)
    )
    lines.append(f"  return {', '.join(results)}".rstrip())
    if graph.effects:
        lines.append(f"  effects {', '.join(node.name for node in graph.effects)}")
    return "\n".join(map(visible_line, lines)) + "\n"


def _argument_text(value: Value) -> str:
    if value.handle is not None:
        return f"{value.dtype.name} of {value.handle.text}"
    return value.spec.text


def _node_text(node: Node) -> str:
    specs = [value.spec.text for value in node.outputs]
    declared = f": {specs[0]}" if len(specs) == 1 else f": ({', '.join(specs)})" if specs else ""
    parts = [_value_text(value) for value in node.inputs]
    parts.extend(f"^{control.name}" for control in node.controls)
    parts.extend(f"{name}={text}" for name, text in attributes_of(node).items())
    return f"{node.name}{declared} = {node.op.name}({', '.join(parts)})"


def attributes_of(node: Node) -> dict[str, str]:
    """The attributes of a node that do not follow from inputs or defaults, as text."""
    told = _told(node.op)
    return {
        name: _attr_text(value)
        for name, value in node.attrs.items()
        if name not in told and not name.startswith("_") and not _is_default(node.op, name, value)
    }


def _told(op: OpDef) -> set[str]:
    """The attributes that follow from the inputs."""
    # TensorFlow's calls carry a serialised configuration of the machine that traced them.
    found = {"config_proto"}
    for arg in op.inputs:
        found.update((arg.type_attr, arg.list_attr))
        # The number of tensors follows from the list, unless the op has two lists.
        if arg.number_attr and len([a for a in op.inputs if a.is_list]) == 1:
            found.add(arg.number_attr)
    if op.name == "Const":
        found.add("dtype")
    return found


def _is_default(op: OpDef, name: str, value: Any) -> bool:
    try:
        default = op.default(name)
    except (InvalidArgumentError, KeyError):
        return False
    return type(default) is type(value) and not isinstance(value, np.ndarray) and default == value


def _value_text(value: Value) -> str:
    return value.node.name if value.index == 0 else f"{value.node.name}:{value.index}"


def _attr_text(value: Any) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, Shape):
        return value.text
    if isinstance(value, FunctionRef):
        return f"@{value.name}"
    if isinstance(value, np.ndarray):
        return _array_text(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_attr_text, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _array_text(array: Any) -> str:
    kind = dtypes.from_numpy(array.dtype).name
    spec = f"{kind}{list(array.shape)}"
    if array.size > _SMALL:
        return f"{spec} {{...}}"
    values = array.reshape(-1).tolist()
    if array.dtype != object:
        values = [
            v if isinstance(v, (bool, int)) else complex(v) if kind[0] == "c" else float(v)
            for v in values
        ]
    return f"{spec} {{{', '.join(map(repr, values))}}}"


# Reading.

_HEAD = re.compile(r"(?P<name>[^\s()]+)\((?P<arguments>.*)\):\s*")
_LINE = re.compile(
    r"(?P<name>[^\s:=]+)\s*(?::\s*(?P<specs>.*?))?\s*=\s*(?P<op>\w+)\((?P<inside>.*)\)\s*"
)
_NAME = re.compile(r"[A-Za-z.][\w.\\/>-]*(?::\d+)?")
_NUMBER = re.compile(r"[-+]?(\d|inf|nan)")


def parse(text: str, functions: Mapping[str, Graph] | None = None) -> Graph:
    """The graph that a text describes; the inverse of `text_of`.

    Args:
        text: as in the head of this module; several graphs may call one another, the first is the
            result.
        functions: more graphs that may be called.

    Raises:
        InvalidArgumentError: the text describes no graph; the line is named.
    """
    blocks = list(_blocks(text))
    if not blocks:
        raise InvalidArgumentError("a graph must begin with a line `name(arguments):`")
    known: dict[str, Any] = dict(functions or {})
    made: dict[str, Graph] = {}

    def graph_named(name: str) -> Graph:
        if name not in made and name in waiting:
            head, lines = waiting.pop(name)
            made[name] = _Parser(head, lines, ref).graph.finish()
        found = made.get(name) or known.get(name)
        if found is None:
            raise InvalidArgumentError(f"there is no graph {name!r}, or it calls itself")
        return found

    def ref(name: str) -> FunctionRef:
        return FunctionRef(name, graph_named(name))

    waiting = {head["name"]: (head, lines) for head, lines in blocks}
    return graph_named(blocks[0][0]["name"])


def _blocks(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """The header of each graph with its lines."""
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        stripped = line.split(" #", 1)[0].strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _HEAD.fullmatch(stripped)
        if match is not None and "=" not in match["name"]:
            if head is not None:
                yield head, lines
            head, lines = match, []
        elif head is None:
            raise InvalidArgumentError(f"a graph must begin with `name(arguments):`, got {line!r}")
        else:
            lines.append(stripped)
    if head is not None:
        yield head, lines


class _Parser:
    """Reads one graph."""

    def __init__(self, head: re.Match[str], lines: list[str], ref: Any) -> None:
        self.graph = GraphBuilder(head["name"])
        self._ref = ref
        self._nodes: dict[str, Node] = {}
        for argument in _split(head["arguments"]):
            self._argument(argument)
        for line in lines:
            try:
                self._line(line)
            except (InvalidArgumentError, KeyError, TypeError, ValueError) as error:
                problem = error.message if isinstance(error, InvalidArgumentError) else error
                raise InvalidArgumentError(
                    f"graph {head['name']!r}: {line!r}: {problem}"
                ) from error

    def _argument(self, text: str) -> None:
        name, _, rest = text.partition(":")
        kind, of, behind = rest.strip().partition(" of ")
        handle = parse_spec(behind) if of else None
        spec = TensorSpec([], as_dtype(kind.strip())) if of else parse_spec(rest)
        value = self.graph.add_input(PLACEHOLDER, spec, name.strip(), handle)
        self._nodes[name.strip()] = value.node

    def _line(self, line: str) -> None:
        if line.startswith("return"):
            for index, item in enumerate(_split(line.removeprefix("return"))):
                name, equals, value = item.rpartition("=")
                self.graph.outputs.append(self._value(value.strip()))
                self.graph.output_names.append(name.strip() if equals else f"output_{index}")
        elif line.startswith("effects "):
            for name in _split(line.removeprefix("effects ")):
                self.graph.effects.append(self._nodes[name])
        else:
            self._node(line)

    def _node(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            raise InvalidArgumentError("expected `name = Op(inputs, attribute=value)`")
        op = registry.lookup(match["op"])
        attrs: dict[str, Any] = {}
        values: list[str] = []
        controls: list[Node] = []
        for item in _split(match["inside"]):
            name, equals, rest = item.partition("=")
            if item[0] == "^":
                controls.append(self._nodes[item[1:]])
            elif equals and name.isidentifier():
                attrs[name] = self._attr(op, name, rest.strip())
            else:
                values.append(item)
        inputs = self._inputs(op, values, attrs)
        if op.name == "Const":
            attrs.setdefault("dtype", dtypes.from_numpy(attrs["value"].dtype))
        node = self.graph.add(op, inputs, attrs, match["name"], controls)
        if node.name != match["name"]:
            raise InvalidArgumentError(f"there is a node {match['name']!r} already")
        self._refine(node, match["specs"])
        self._nodes[node.name] = node

    def _refine(self, node: Node, text: str | None) -> None:
        if not text:
            return
        inner = text[1:-1] if text.startswith("(") else text
        specs = [parse_spec(one) for one in _split(inner)]
        for value, spec in zip(node.outputs, specs, strict=True):
            if spec.dtype is not value.dtype:
                raise InvalidArgumentError(f"{value!r} is not a {spec.dtype.name}")
            value.refine(value.shape.merge_with(spec.shape))

    def _inputs(self, op: OpDef, texts: list[str], attrs: dict[str, Any]) -> list[Value]:
        """The input values, with literals as constants of the expected dtype; notes their specs."""
        lists = [arg for arg in op.inputs if arg.is_list]
        found: list[Value] = []
        position = 0
        for arg in op.inputs:
            count = 1
            if arg.is_list:
                count = attrs.get(arg.number_attr, -1) if arg.number_attr else -1
                if count < 0:
                    count = (
                        (len(texts) - len(op.inputs) + 1)
                        if len(lists) == 1
                        else len(attrs[arg.list_attr])
                    )
                if arg.number_attr:
                    attrs[arg.number_attr] = count
            part = texts[position : position + count]
            position += count
            wanted = arg.dtype or attrs.get(arg.type_attr)
            values = [self._value(text, wanted) for text in part]
            if arg.list_attr:
                attrs[arg.list_attr] = tuple(value.dtype for value in values)
            elif arg.type_attr and values:
                attrs.setdefault(arg.type_attr, values[0].dtype)
            found.extend(values)
        if position != len(texts) or len(found) != len(texts):
            raise InvalidArgumentError(f"{op.name} takes {op.signature}, got {len(texts)} inputs")
        return found

    def _value(self, text: str, dtype: DType | None = None) -> Value:
        if _NAME.fullmatch(text) and text.partition(":")[0] in self._nodes:
            name, _, index = text.partition(":")
            return self._nodes[name].outputs[int(index or 0)]
        if text[:1] in "[-+.'\"b" or _NUMBER.match(text) or text in ("True", "False"):
            array = array_of(ast.literal_eval(text), dtype)
            kind = dtype or dtypes.from_numpy(array.dtype)
            return self.graph.add(CONST, (), {"value": array, "dtype": kind}, "const").outputs[0]
        raise InvalidArgumentError(f"there is no value {text!r}")

    def _attr(self, op: OpDef, name: str, text: str) -> Any:
        if text.startswith("@"):
            return self._ref(text[1:])
        if text.startswith("(") and text.endswith(")"):
            return tuple(self._attr(op, name, item) for item in _split(text[1:-1]))
        match = re.fullmatch(r"(\w+)\[(.*?)\] \{(.*)\}", text)
        if match is not None:
            return _array(*match.groups())
        kind = (
            op.attrs[name].kind if name in op.attrs else "type" if name in op.type_sets else "int"
        )
        kind = kind.removeprefix("list(").removesuffix(")")
        if kind == "type":
            return as_dtype(text)
        if kind == "shape":
            return parse_spec(f"float32{text}").shape
        value = ast.literal_eval(text)
        return float(value) if kind == "float" else value


def _array(kind: str, sizes: str, values: str) -> Any:
    if values == "...":
        raise InvalidArgumentError("the values of a large constant are not in the text")
    dtype = as_dtype(kind)
    text = values.replace("inf", "1e999").replace("nan", "(1e999-1e999)")
    items = (
        [_number(item) for item in _split(text)]
        if "1e999" in text
        else ast.literal_eval(f"[{values}]")
    )
    flat = np.empty(len(items), dtype.numpy)
    flat[:] = items
    return flat.reshape([int(n) for n in _split(sizes)])


def _number(text: str) -> Any:
    if text.strip() in ("(1e999-1e999)", "-(1e999-1e999)"):
        return float("nan")
    return ast.literal_eval(text.strip())


def _split(text: str) -> list[str]:
    """The items between commas outside of brackets and quotes."""
    items, depth, start, quote = [], 0, 0, ""
    for position, letter in enumerate(text):
        if quote:
            if letter == quote and text[position - 1] != "\\":
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            items.append(text[start:position].strip())
            start = position + 1
    items.append(text[start:].strip())
    return [item for item in items if item]
