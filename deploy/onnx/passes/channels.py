"""Layout assignment, channels last or first per value: as few and small transpositions as possible.

Programs are channels last; ONNX's convolutions are channels first. Converters mark such nodes
(`Node.moved`) and write no transpose. Here every value gets a layout: nodes that support both
(`layout_rules.py`) are assigned by a minimum cut whose edges cost the size of the value to
transpose; transposes are inserted only on the cut.
"""

from collections.abc import Hashable

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, channels_first, sizes_of
from pinnace.deploy.onnx.passes.layout_roles import (
    ANY,
    FIRST,
    OWN,
    Chosen,
    Roles,
    first_axes,
    is_free,
    last_axes,
)
from pinnace.deploy.onnx.passes.layout_rules import rewrite, roles_of
from pinnace.deploy.onnx.passes.minimum_cut import SINK, SOURCE, Network

# Sizes that are assumed for unknown ones.
_BATCH = 1
_UNKNOWN = 32
# The cost of a transpose in addition to its elements, so that few are preferred to small ones.
_NODE = 1000.0
_RESHAPE = 1.0
_NEVER = 1e15


def lay_out(g: GraphBuilder) -> None:
    """Choose the layout of every value, and insert the necessary transposes."""
    for node in g.nodes:
        for body in bodies_of(node):
            lay_out(body)
    if not any(node.moved for node in g.nodes):
        return
    g.prune()
    users = g.users()
    results = {value for _, value in g.outputs}
    roles = {node: roles_of(node, users, results) for node in g.nodes}
    first = _coloured(g, roles, users)
    _apply(g, roles, first)


def _coloured(
    g: GraphBuilder, roles: dict[Node, Roles], users: dict[Value, list[Node]]
) -> set[Node]:
    """The nodes that work in channels first."""
    network = Network()
    for node, role in roles.items():
        if role.fixed == FIRST:
            network.edge(SOURCE, node, _NEVER)
    results = {value for _, value in g.outputs}
    outside = [value for value in g.captured() if value.array is None] if g.is_body else []
    values = [*g.inputs, *outside, *(value for node in g.nodes for value in node.outputs)]
    for value in values:
        if value.shape.rank is None or value.shape.rank < 3:
            continue
        giver: Hashable = SINK
        if value.node in roles and value in roles[value.node].gives:
            giver = value.node
        takers: list[Hashable] = [SINK] if value in results else []
        for user in dict.fromkeys(users.get(value, ())):
            role = roles[user]
            for index, taken in enumerate(user.inputs):
                if taken is value and role.takes[index] != ANY:
                    takers.append(user if role.takes[index] == OWN else SINK)
            if value in user.captured:
                takers.append(SINK)
        _price(network, value, giver, takers)
    return {node for node in network.cut() if isinstance(node, Node)}


def _price(network: Network, value: Value, giver: Hashable, takers: list[Hashable]) -> None:
    """Add the cost of transposing a value once, if any user needs the other layout."""
    others = list(dict.fromkeys(taker for taker in takers if taker is not giver))
    if not others:
        return
    cost = _RESHAPE if is_free(value.shape) else _NODE + _elements(value)
    ahead, behind = ("ahead", value), ("behind", value)
    network.edge(giver, ahead, cost)
    network.edge(behind, giver, cost)
    for taker in others:
        network.edge(ahead, taker, _NEVER)
        network.edge(taker, behind, _NEVER)


def _elements(value: Value) -> float:
    count = 1.0
    for axis, size in enumerate(value.shape):
        count *= (_BATCH if axis == 0 else _UNKNOWN) if size is None else max(size, 1)
    return count


class _Rewriting:
    """The graph while its nodes are rewritten for the chosen layouts.

    Until the end every value keeps its channels-last shape, including values created here.
    """

    def __init__(self, g: GraphBuilder) -> None:
        self.g = g
        self.given: set[Value] = set()  # values that are channels first
        self.other: dict[Value, Value] = {}  # value -> the same in the other layout

    def in_form(self, value: Value, channels_are_first: bool) -> Value:
        if (value in self.given) == channels_are_first:
            return value
        made = self.other.get(value)
        if made is None:
            made = self.other[value] = self._transposed(value, channels_are_first)
        return made

    def _transposed(self, value: Value, channels_are_first: bool) -> Value:
        g, last = self.g, value.shape
        first = channels_first(last)
        perm = first_axes(value.rank) if channels_are_first else last_axes(value.rank)
        value.shape, after = (last, first) if channels_are_first else (first, last)
        origin = value.node.origin if value.node is not None else value.name
        try:
            with g.scope(origin):
                if is_free(last) and sum(size is None for size in after) <= 1:
                    made = g.reshape(value, sizes_of(after))
                else:
                    made = g.op("Transpose", value, perm=perm)
        finally:
            value.shape = last
        made.refine(after)
        return made

    def node(self, node: Node, role: Roles, is_first: bool) -> None:
        logical = [None if value is None else value.shape for value in node.inputs]
        forms: list[bool] = []
        for index, value in enumerate(node.inputs):
            take = role.takes[index]
            if value is None or value.array is not None:
                if value is not None and value.array is not None and take == OWN and is_first:
                    turned = value.array.transpose(first_axes(value.rank))
                    node.inputs[index] = self.g.constant(turned, value.name, value.dtype)
                forms.append(False)
            elif take == ANY:
                forms.append(value in self.given)
            else:
                wanted = take == OWN and is_first
                node.inputs[index] = self.in_form(value, wanted)
                forms.append(wanted)
        places = {
            value: self.in_form(value, False) for value in node.captured if value in self.given
        }
        for body in bodies_of(node):
            body.replace(places)
        rewrite(self.g, node, Chosen(role, is_first, forms, logical))
        self.g.nodes.append(node)
        if is_first:
            self.given |= role.gives


def _apply(g: GraphBuilder, roles: dict[Node, Roles], first: set[Node]) -> None:
    """Rewrite the nodes for the chosen layouts, with transposes where the layout changes."""
    nodes, g.nodes = g.nodes, []
    rewriting = _Rewriting(g)
    for node in nodes:
        rewriting.node(node, roles[node], node in first)
    g.outputs = [(name, rewriting.in_form(value, False)) for name, value in g.outputs]
    for value in rewriting.given:
        value.shape = channels_first(value.shape)
