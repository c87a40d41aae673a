"""The bodies of graphs and functions: nodes that refer to one another, built in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from pinnace import late
from pinnace.framework.errors import InvalidArgumentError, OpError
from pinnace.graph.codec.attrs import decode_attr
from pinnace.graph.codec.gradients import Within, mark, mark_of
from pinnace.graph.codec.nodes import (
    attr_kind,
    check_inputs,
    declared_specs,
    likely_dtype,
    note_handles,
)
from pinnace.graph.codec.opaque import (
    INPUTS,
    TRANSLATED_XLA,
    op_from_uses,
    output_types_attr,
)
from pinnace.graph.gradients import ATTRIBUTE
from pinnace.ops import gate, registry
from pinnace.ops.functional.calls import BATCH_FUNCTION, PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.graph.codec.functions import FunctionLibrary
    from pinnace.graph.codec.gradients import Gradients
    from pinnace.graph.graph import GraphBuilder, Node, Value
    from pinnace.ops.opdef import OpDef
    from pinnace.proto.node_def_pb2 import NodeDef

    # The name of each output argument of a node, and its number of tensors.
    Ranges: TypeAlias = tuple[tuple[str, int], ...]

# The maximal length of a list argument with a count attribute.
_MOST_TENSORS = 1 << 16


class Reference(NamedTuple):
    """A parsed input of a node: a control edge (output None), or a tensor of `output`."""

    node: str
    output: str | None
    position: int


class Flow(Protocol):
    """Builds nodes that make sense only as a group: loops and conditionals of TensorFlow 1."""

    def study(self, names: Iterable[str]) -> None:
        """Analyse the nodes that will be built."""

    def before(self, name: str) -> Iterable[str]:
        """References that must be built before a node."""

    def stands_outside(self, name: str, position: int) -> bool:
        """Whether an output of a node is supplied from outside or was computed before."""

    def is_pivot(self, name: str) -> bool:
        """Whether waiting for a node has no effect."""

    def lower(self, name: str) -> tuple[Node, Mapping[str, tuple[Value, ...]]] | None:
        """Build the group of a node; the outputs of all its nodes, or None if it has no group."""


class Body:
    """Decodes the nodes of a function or main graph in dependency order.

    Args:
        graph: the graph that gets the nodes.
        messages: name -> node.
        library: the functions that nodes may call.
        where: the function, for errors.
        arguments: the values of a function's arguments; None for a main graph, in which references
            are `node:k`.
        given: replaces outputs of nodes: from a node's name and the output's index to a value, or
            None to compute it.
        flow: builds the nodes that only have a meaning as a group.
        results: the references of a function's results.
        gradients: custom gradients of nodes.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        messages: Mapping[str, NodeDef],
        library: FunctionLibrary,
        where: str,
        arguments: Mapping[str, Value] | None = None,
        given: Callable[[str, int], Value | None] | None = None,
        flow: Flow | None = None,
        results: Iterable[str] = (),
        gradients: Gradients | None = None,
    ) -> None:
        self._graph = graph
        self._gradients = gradients
        self._results = tuple(results)
        self._flow = flow
        # The outputs of nodes that were merged into another.
        self._lowered: dict[str, tuple[Value, ...]] = {}
        self._given = given or _nothing_given
        self._messages = messages
        self._library = library
        self._where = where
        self._arguments = arguments
        self._nodes: dict[str, Node] = {}
        # Names of the output arguments of a node, where its op does not define them.
        self._outputs: dict[str, Ranges] = {}
        self._uses: dict[str, dict[str, int]] | None = None
        # References are parsed once: several nodes have the same, each when ordered and when built.
        self._parsed: dict[str, Reference] = {}

    def decode(self, names: Iterable[str]) -> None:
        """Decode these nodes and their inputs.

        Raises:
            InvalidArgumentError: a node is not one that its op could have.
        """
        names = list(names)
        if self._flow is not None:
            self._flow.study(names)
        waiting = [(name, False) for name in reversed(names)]
        entered: set[str] = set()
        while waiting:
            name, ready = waiting.pop()
            if name in self._nodes:
                continue
            if ready:
                if self._flow is None or not self._lower(self._flow, name):
                    self._nodes[name] = self._build(self._messages[name])
                continue
            if name in entered:  # and not built yet: it depends on itself
                raise InvalidArgumentError(
                    f"{self._where}: the graph has a circle through node {name!r}"
                )
            entered.add(name)
            message = self._messages.get(name)
            if message is None:
                raise InvalidArgumentError(f"{self._where}: there is no node {name!r}")
            waiting.append((name, True))
            waiting.extend((before, False) for before in self._missing(message))

    def _missing(self, message: NodeDef) -> Iterable[str]:
        """The nodes that must be built before a node, and have not been built."""
        texts = message.input if self._flow is None else self._flow.before(message.name)
        if self._gradients is not None:
            for before in self._gradients.needed(message):
                if before not in self._nodes and not self._is_argument(before):
                    yield before
        for text in texts:
            before, _, position = self._parse(text, message.name)
            if self._is_given(before, position):
                continue
            if before not in self._nodes and not self._is_argument(before):
                if before not in self._messages:
                    raise InvalidArgumentError(
                        f"{self._where}: input {text!r} of node {message.name!r} does not exist"
                    )
                yield before

    def _lower(self, flow: Flow, name: str) -> bool:
        """Build the group that a node is part of, if any."""
        found = flow.lower(name)
        if found is not None:
            node, outputs = found
            self._lowered.update(outputs)
            self._nodes.update(dict.fromkeys(outputs, node))
        return found is not None

    def has_node(self, name: str) -> bool:
        """Whether a node was decoded."""
        return name in self._nodes

    def node(self, name: str) -> Node:
        """A node that was decoded."""
        return self._nodes[name]

    def value(self, text: str, user: str) -> Value:
        """The value of a reference.

        Args:
            text: the reference; its node must have been decoded.
            user: the node with the reference, for errors.
        """
        found = self._parse(text, user)
        if self._arguments is not None and found.node in self._arguments:
            if found.output not in ("", None) or found.position:
                raise InvalidArgumentError(
                    f"{self._where}: {user} takes {text!r}, but an argument is one tensor"
                )
            return self._arguments[found.node]
        given = self._given(found.node, found.position)
        if given is not None:
            return given
        node = self._nodes.get(found.node)
        if node is None:
            raise InvalidArgumentError(
                f"{self._where}: {user} takes {text!r}, which does not exist"
            )
        outputs = self._lowered.get(found.node, node.outputs)
        position = self._position(node, found)
        if position is None or not 0 <= position < len(outputs):
            raise InvalidArgumentError(
                f"{self._where}: {user} takes {text!r}, but {node.op.name} node {node.name!r} has "
                f"the outputs {', '.join(self._output_names(node)) or 'none'}"
            )
        return outputs[position]

    # References.

    def _is_argument(self, name: str) -> bool:
        return self._arguments is not None and name in self._arguments

    def _parse(self, text: str, user: str) -> Reference:
        found = self._parsed.get(text)
        if found is None:
            found = self._parsed[text] = self._parse_anew(text, user)
        return found

    def _parse_anew(self, text: str, user: str) -> Reference:
        if text[:1] == "^":
            return Reference(text[1:], None, 0)
        parts = text.split(":")
        try:
            if len(parts) == 1:
                if self._arguments is None or parts[0] in self._arguments:
                    return Reference(parts[0], "", 0)
            elif len(parts) == 2 and (self._arguments is None or parts[0] in self._arguments):
                return Reference(parts[0], "", int(parts[1]))
            elif len(parts) == 2:
                # TensorFlow: the index may be left out.
                return Reference(parts[0], _no_number(parts[1]), 0)
            elif len(parts) == 3 and self._arguments is not None:
                return Reference(parts[0], parts[1], int(parts[2]))
        except ValueError:
            pass
        form = "node:index" if self._arguments is None else "argument or node:output:index"
        raise InvalidArgumentError(
            f"{self._where}: {user} takes {text[:200]!r}, which is not of the form {form}"
        )

    def _position(self, node: Node, reference: Reference) -> int | None:
        """The flat index of an output."""
        if self._arguments is None:
            return reference.position
        start = 0
        for name, count in self._output_ranges(node):
            if name == reference.output:
                return start + reference.position if 0 <= reference.position < count else None
            start += count
        return None

    def _output_ranges(self, node: Node) -> Ranges:
        found = self._outputs.get(node.name)
        if found is None:
            op = node.op
            found = tuple([(arg.name, op.input_count(arg, node.attrs)) for arg in op.outputs])
            self._outputs[node.name] = found
        return found

    def _output_names(self, node: Node) -> list[str]:
        return [f"{name}:{i}" for name, count in self._output_ranges(node) for i in range(count)]

    # Building.

    def _build(self, message: NodeDef) -> Node:
        where = f"{self._where}, node {message.name!r}"
        inputs: list[Value] = []
        controls: list[Node] = []
        for text in message.input:
            if text[:1] == "^":
                if self._waits(text[1:]):
                    controls.append(self._nodes[text[1:]])
            else:
                inputs.append(self.value(text, f"node {message.name!r}"))
        op, attrs, ranges, specs = self._op(message, inputs, where)
        if self._gradients is not None and self._add_gradient(
            message, self._gradients, inputs, attrs
        ):
            specs = declared_specs(op, attrs, message.attr, where)
        check_inputs(op, attrs, inputs, where)
        if op in {BATCH_FUNCTION, PARTITIONED_CALL, STATEFUL_PARTITIONED_CALL}:
            self._check_call(attrs, where)
        try:
            if specs is None:
                node = self._graph.add(op, inputs, attrs, message.name, controls)
            else:
                node = self._graph.add_raw(op, inputs, attrs, message.name, specs, controls)
        except OpError as error:
            raise type(error)(f"{where}: {error.message}") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{where} ({op.name}): {error}") from error
        note_handles(node)
        if ranges is not None:
            self._outputs[node.name] = ranges
        return node

    def _add_gradient(
        self,
        message: NodeDef,
        gradients: Gradients,
        inputs: list[Value],
        attrs: dict[str, Any],
    ) -> bool:
        """Add to a node's inputs the tensors that its custom gradient captures, if it has one."""
        found = gradients.of(message)
        if found is None:
            return False
        passed = len(inputs)
        inputs.extend(
            self._captured(one.tensor, message.name)
            for one in found.captured
            if isinstance(one, Within)
        )
        attrs["T"] = tuple(value.dtype for value in inputs)
        attrs[ATTRIBUTE] = mark(found, mark_of(message), passed)
        return True

    def _captured(self, tensor: str, user: str) -> Value:
        """A tensor in the notation of graphs: `node:index`, or `argument:0`."""
        name, _, index = tensor.partition(":")
        if self._arguments is not None and name in self._arguments:
            return self._arguments[name]
        outputs = self._nodes[name].outputs
        if int(index or 0) >= len(outputs):
            raise InvalidArgumentError(
                f"{self._where}: the gradient of node {user!r} uses {tensor!r}, but that node has "
                f"{len(outputs)} outputs"
            )
        return outputs[int(index or 0)]

    def _waits(self, name: str) -> bool:
        """Whether a control edge from this node must be kept."""
        if self._is_argument(name) or self._is_given(name, 0):
            return False
        return self._flow is None or not self._flow.is_pivot(name)

    def _is_given(self, name: str, position: int) -> bool:
        if self._flow is not None:
            return self._flow.stands_outside(name, position)
        return self._given(name, position) is not None

    def _op(
        self, message: NodeDef, inputs: Sequence[Value], where: str
    ) -> tuple[OpDef, dict[str, Any], Ranges | None, list[TensorSpec] | None]:
        """The op, its attributes, and the names of its outputs if the op does not define them.

        The specs of the outputs come last, if the node has them as an attribute.
        """
        # A reference is treated as its value: ops that assign to one were replaced before.
        name = "Identity" if message.op == "RefIdentity" else message.op
        found: tuple[OpDef, dict[str, Any], Ranges | None]
        if message.op in TRANSLATED_XLA:
            found = late.decode_xla(message.op, message.attr, inputs, self._library, where)
        elif op := registry.find(name) or self._library.opaque_op(message.op):
            op, attrs, specs = self._known(op, message, where)
            return op, dict(attrs), None, specs
        elif message.op in self._library:
            found = self._call(message, inputs, where)
        else:
            found = self._unknown(message, inputs, where)
        return (*found, declared_specs(found[0], found[1], message.attr, where))

    def _known(
        self, op: OpDef, message: NodeDef, where: str
    ) -> tuple[OpDef, dict[str, Any], list[TensorSpec] | None]:
        """The op as it may run, attributes and specs: decoded once for nodes that are alike."""
        attributes = message.attr
        key = None
        if "value" not in attributes:  # a tensor may be large
            written = [(name, one.SerializeToString()) for name, one in attributes.items()]
            key = message.op, *written
        found = self._library.alike.get(key)
        if found is None:
            attrs = self._attrs(op, message, where)
            kept = op if self._library.allow_io else gate.admitted(op, attrs)
            found = kept, attrs, declared_specs(kept, attrs, attributes, where)
            if key is not None:
                self._library.alike[key] = found
        return found

    def _attrs(self, op: OpDef, message: NodeDef, where: str) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        for name, value in message.attr.items():
            kind = attr_kind(op, name)
            # An attribute without a value counts as absent; a list without one is empty.
            if kind and (kind.startswith("list(") or value.WhichOneof("value") is not None):
                place = f"{where}, attribute {name!r}"
                attrs[name] = decode_attr(value, kind, place, self._library.ref)
        self._add_defaults(op, message.op, attrs)
        try:
            full = op.full_attrs(attrs)
        except OpError as error:
            raise type(error)(f"{where}: {error.message}") from None
        for name in (*op.type_sets, *op.number_attrs, *op.list_types):
            if name not in full:
                raise InvalidArgumentError(f"{where}: {op.name} needs attribute {name!r}")
        for name in op.number_attrs:
            if not 0 <= full[name] <= _MOST_TENSORS:
                raise InvalidArgumentError(
                    f"{where}, attribute {name!r}: must be from 0 to {_MOST_TENSORS}, "
                    f"got {full[name]}"
                )
        return full

    def _add_defaults(self, op: OpDef, name: str, attrs: dict[str, Any]) -> None:
        """Add the defaults that only the file knows, for attributes that a node leaves out.

        Files omit attributes with default values, and list these defaults in their op definitions.
        """
        needed = [one for one, known in op.attrs.items() if known.required]
        needed += [one for one, known in op.type_sets.items() if known.default is None]
        needed += [*op.number_attrs, *op.list_types]
        for one in needed:
            if one not in attrs:
                default = self._library.default(name, one)
                if default is not None:
                    where = f"{self._library.where}: definition of op {name!r}, attribute {one!r}"
                    kind = attr_kind(op, one)
                    attrs[one] = decode_attr(default, kind, where, self._library.ref)

    def _call(
        self, message: NodeDef, inputs: Sequence[Value], where: str
    ) -> tuple[OpDef, dict[str, Any], Ranges]:
        """A node whose op is a function of the library, as a call of it."""
        signature = self._library.signature(message.op)
        results = tuple(self._library.result_types(message.op))
        op = STATEFUL_PARTITIONED_CALL if signature.is_stateful else PARTITIONED_CALL
        attrs = op.full_attrs(
            {
                "f": self._library.ref(message.op, where),
                "Tin": tuple(value.dtype for value in inputs),
                "Tout": results,
            }
        )
        return op, attrs, tuple((arg.name, 1) for arg in signature.output_arg)

    def _check_call(self, attrs: Mapping[str, Any], where: str) -> None:
        """Check that a call's input and output dtypes are those of the function's signature."""
        name = attrs["f"].name
        if name not in self._library:  # translated, and checked where that was done
            return
        for what, wanted, given in (
            (
                "takes",
                self._library.argument_types(name),
                (*attrs["Tin"], *attrs.get("Tcaptured", ())),
            ),
            ("gives", self._library.result_types(name), attrs["Tout"]),
        ):
            if tuple(wanted) != tuple(given):
                raise InvalidArgumentError(
                    f"{where}: function {name!r} {what} {[kind.name for kind in wanted]}, the call "
                    f"has {[kind.name for kind in given]}"
                )

    def _unknown(
        self, message: NodeDef, inputs: Sequence[Value], where: str
    ) -> tuple[OpDef, dict[str, Any], None]:
        """An op without a definition, inferred from its uses."""
        attrs = {
            name: decode_attr(value, "", f"{where}, attribute {name!r}", self._library.ref)
            for name, value in message.attr.items()
            if not name.startswith("_") and value.WhichOneof("value") is not None
        }
        uses = self._uses_of(message.name)
        op = op_from_uses(message.op, uses, "output")
        kind = likely_dtype(attrs)
        attrs[INPUTS] = tuple(value.dtype for value in inputs)
        for arg in op.outputs:
            attrs[output_types_attr(arg.name)] = (kind,) * uses.get(arg.name, 1)
        return op, attrs, None

    def _uses_of(self, name: str) -> dict[str, int]:
        """The outputs of a node that others use: argument -> number of tensors."""
        if self._uses is None:
            self._uses = {}
            users = [(f"node {one.name!r}", one.input) for one in self._messages.values()]
            for user, texts in (*users, ("a result", self._results)):
                for text in texts:
                    if text[:1] == "^" or self._is_argument(text.split(":", 1)[0]):
                        continue
                    found = self._parse(text, user)
                    outputs = self._uses.setdefault(found.node, {})
                    output = found.output or "output"
                    count = min(max(found.position, 0), _MOST_TENSORS - 1) + 1
                    outputs[output] = max(count, outputs.get(output, 0))
        return self._uses.get(name, {})


def stateful_before(nodes: Iterable[Node]) -> list[Node]:
    """The stateful nodes among these and, behind nodes that only wait, among their controls."""
    found: dict[Node, None] = {}
    waiting = list(nodes)
    waiting.reverse()
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op.stateful:
            found[node] = None
        else:
            waiting.extend(node.controls)
            waiting.extend(value.node for value in node.inputs)
    return list(found)


def _nothing_given(name: str, position: int) -> Value | None:
    del name, position
    return None


def _no_number(text: str) -> str:
    if text.isdigit():
        raise ValueError(text)
    return text
