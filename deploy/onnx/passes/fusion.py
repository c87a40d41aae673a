"""Fusion of constants into weights and of padding into convolutions; removal of redundant nodes."""

from collections import Counter

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import Node, Value, constant_input
from pinnace.deploy.onnx.ir.inference import SMALL
from pinnace.deploy.program.mapped_weights import release
from pinnace.framework.errors import InternalError
from pinnace.framework.tensor import Array

# The neutral element as the other operand; for Sub and Div as the second operand only.
_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}
# Two such nodes draw different numbers, so they are no duplicates.
_DRAWS = frozenset({"RandomNormalLike", "RandomUniformLike"})
_AFFINE = frozenset({"Add", "Sub", "Mul", "Div", "BatchNormalization"})
# Operator -> the axis of its weights (input 1) for the output's channels.
_WEIGHTED = {"Conv": 0, "ConvTranspose": 1, "MatMul": 1, "Gemm": 1}


def fuse(g: GraphBuilder) -> None:
    """Rewrite the graph in place, in one traversal from inputs to outputs."""
    _walk(g, with_weights=True)


def tidy(g: GraphBuilder) -> None:
    """Drop identities and common subexpressions in a graph with final layouts."""
    _walk(g, with_weights=False)


def _walk(g: GraphBuilder, *, with_weights: bool) -> None:
    g.prune()
    uses = _uses(g)
    places: dict[Value, Value] = {}
    kept: list[Node] = []
    own = set(g.nodes) if with_weights else set()
    seen: dict[object, Node] = {}
    # The outputs of a body must be made in it, if only by an Identity.
    results = {value for _, value in g.outputs} if g.is_body else set()
    for node in g.nodes:
        for body in bodies_of(node):
            body.replace(places)
            _walk(body, with_weights=with_weights)
        node.inputs = [None if v is None else _resolved(v, places) for v in node.inputs]
        if _drop_idle(g, node, places, results, uses):
            continue
        if _is_double(node, places, seen, results, uses):
            continue
        if node.kind in _AFFINE and _into_weights(g, node, uses, places, own):
            # The input's weights now include this node, so a later identical node is no duplicate.
            seen.pop(_key(node), None)
            continue
        if node.kind == "Conv":
            _take_padding(node, uses, own)
        kept.append(node)
    g.nodes = kept
    g.outputs = [(name, _resolved(value, places)) for name, value in g.outputs]
    g.prune()


def _resolved(value: Value, places: dict[Value, Value]) -> Value:
    while value in places:
        value = places[value]
    return value


def _uses(g: GraphBuilder) -> Counter[Value]:
    """The number of uses of each value."""
    counts: Counter[Value] = Counter()
    for node in g.nodes:
        counts.update(node.taken)
    counts.update(value for _, value in g.outputs)
    return counts


def _drop_idle(
    g: GraphBuilder,
    node: Node,
    places: dict[Value, Value],
    results: set[Value],
    uses: Counter[Value],
) -> bool:
    """Drop identities, and merge consecutive transposes or reshapes."""
    target = node.outputs[0]
    if not node.inputs or node.inputs[0] is None or target in results:
        return False
    source = _stands_for(g, node)
    if source is None:
        return False
    if node.kind == "Identity":
        source.refine(target.shape)
    places[target] = source
    uses[source] += uses[target]
    return True


def _stands_for(g: GraphBuilder, node: Node) -> Value | None:
    """The value that a node returns unchanged; None for other nodes."""
    first = node.inputs[0]
    if first is None or node.kind == "Identity":
        return first
    if node.kind == "Transpose" and list(node.attrs["perm"]) == sorted(node.attrs["perm"]):
        return first
    if node.kind in _NEUTRAL:
        return _unchanged(node)
    before = first.node
    if before is None:
        return None
    if before.kind == "Unsqueeze" and _takes_back(node, before):
        return before.inputs[0]
    return _joined(g, node, before) if before.kind == node.kind else None


def _unchanged(node: Node) -> Value | None:
    """The `x` of `x + 0` or `x * 1`, if broadcasting does not change its shape."""
    neutral = _NEUTRAL[node.kind]
    places = (0, 1) if node.kind in {"Add", "Mul"} else (1,)
    for place in places:
        number, other = constant_input(node, place), node.inputs[1 - place]
        if number is None or other is None or other.array is not None or not number.size:
            continue
        if not np.all(number == neutral) or other.shape.rank is None or number.ndim > other.rank:
            continue
        sizes = list(other.shape)[other.rank - number.ndim :]
        if all(n in {1, size} for n, size in zip(number.shape, sizes, strict=True)):
            return other
    return None


def _joined(g: GraphBuilder, node: Node, before: Node) -> Value | None:
    """Merge a node with the one before of the same kind; return its input if nothing remains."""
    source, target = before.inputs[0], node.outputs[0]
    if node.kind == "Resize":
        scales, others = constant_input(node, 2), constant_input(before, 2)
        if scales is None or others is None:
            return None
        if _multiplies(node) and _multiplies(before):
            node.inputs[0] = source
            node.inputs[2] = g.constant(np.asarray(scales * others, np.float32))
    elif node.kind == "Transpose":
        perm = [before.attrs["perm"][axis] for axis in node.attrs["perm"]]
        node.inputs[0] = source
        node.attrs["perm"] = perm
        return source if perm == sorted(perm) else None
    elif node.kind == "Reshape" and _is_all(node, before):
        node.inputs[0] = source
        known = source is not None and source.shape.is_fully_defined()
        return source if known and source is not None and source.shape == target.shape else None
    return None


def _takes_back(node: Node, before: Node) -> bool:
    """Whether a node removes the axis of size 1 that an Unsqueeze added."""
    added, where = constant_input(before, 1), constant_input(node, 1)
    if added is None or where is None or not np.all(added >= 0):
        return False
    if node.kind == "Squeeze":
        return bool(np.array_equal(added, where))
    if node.kind != "Gather" or where.ndim or int(where) not in {0, -1}:
        return False
    return bool(added.tolist() == [node.attrs.get("axis", 0)])


def _is_double(
    node: Node,
    places: dict[Value, Value],
    seen: dict[object, Node],
    results: set[Value],
    uses: Counter[Value],
) -> bool:
    """Whether an earlier node computes the same value."""
    if node.bodies or node.kind in _DRAWS or any(value in results for value in node.outputs):
        return False
    first = seen.setdefault(_key(node), node)
    if first is node:
        return False
    for double, value in zip(node.outputs, first.outputs, strict=True):
        places[double] = value
        uses[value] += uses[double]
    return True


def _key(node: Node) -> object:
    """A key that is equal for nodes with equal computations."""
    attrs = tuple((name, str(node.attrs[name])) for name in sorted(node.attrs))
    return node.kind, tuple(node.inputs), attrs, node.moved, len(node.outputs)


def _multiplies(node: Node) -> bool:
    """Whether a Resize repeats every pixel an integer number of times: two of these are one."""
    source, target = node.inputs[0], node.outputs[0]
    if source is None or source.shape.rank is None or node.attrs.get("nearest_mode") != "floor":
        return False
    if node.attrs.get("coordinate_transformation_mode") != "asymmetric" or not node.moved:
        return False
    pairs = list(zip(list(source.shape)[1:-1], list(target.shape)[1:-1], strict=True))
    return all(old and new and new % old == 0 for old, new in pairs)


def _is_all(node: Node, before: Node) -> bool:
    """Whether the second of two reshapes determines all sizes; copied ones are leading sizes."""
    arrays = [None if one.inputs[1] is None else one.inputs[1].array for one in (node, before)]
    sizes = arrays[0]
    if sizes is None or 0 in sizes[1:] or "allowzero" in node.attrs:
        return False
    if not sizes.size or sizes[0] != 0:
        return True
    first = arrays[1]
    return (
        first is not None and first.size > 0 and first[0] == 0 and "allowzero" not in before.attrs
    )


# Fusion of constants into weights.


def _into_weights(
    g: GraphBuilder, node: Node, uses: Counter[Value], places: dict[Value, Value], own: set[Node]
) -> bool:
    """Merge constants that scale and shift the channels of a product into its weights."""
    first, second = node.inputs[0], node.inputs[1]
    if first is None or second is None:
        return False
    data = first if first.node is not None else second
    weighted = data.node
    if weighted is None or weighted not in own or weighted.kind not in _WEIGHTED or uses[data] != 1:
        return False
    pair = _scale_and_shift(node, data)
    if pair is None or not _constant_weights(weighted):
        return False
    weights = weighted.inputs[1]
    channels = data.shape[-1] if data.shape.rank else None
    if weights is None or channels is None or not _fits(pair, int(channels), data):
        return False
    scale, shift = (np.broadcast_to(part.reshape(-1), (int(channels),)) for part in pair)
    if not _rewrite(g, weighted, scale, shift):
        return False
    places[node.outputs[0]] = data
    uses[data] = uses[node.outputs[0]]
    return True


def _scale_and_shift(node: Node, data: Value) -> tuple[Array, Array] | None:
    """The constants of y = data * scale + shift, in float64."""
    if node.kind == "BatchNormalization":
        return _normalisation(node)
    other = node.inputs[1] if node.inputs[0] is data else node.inputs[0]
    if other is None or other.array is None or not other.dtype.is_floating:
        return None
    constant = np.asarray(other.array, np.float64)
    is_left = node.inputs[0] is data
    one, zero = np.ones(1), np.zeros(1)
    if node.kind == "Add":
        return one, constant
    if node.kind == "Sub":
        return (one, -constant) if is_left else (-one, constant)
    if node.kind == "Mul":
        return constant, zero
    return (1.0 / constant, zero) if is_left and np.all(constant) else None


def _normalisation(node: Node) -> tuple[Array, Array] | None:
    arrays = [None if value is None else value.array for value in node.inputs[1:]]
    if len(node.outputs) != 1 or any(array is None for array in arrays):
        return None
    gamma, beta, mean, variance = (np.asarray(array, np.float64) for array in arrays)
    scale = gamma / np.sqrt(variance + node.attrs.get("epsilon", 1e-5))
    return scale, beta - mean * scale


def _fits(pair: tuple[Array, Array], channels: int, data: Value) -> bool:
    """Whether each constant is a scalar or one per channel, and does not widen the result."""
    for part in pair:
        if part.size not in {1, channels} or part.ndim > data.rank:
            return False
        if part.size == channels and part.size != 1 and part.shape[-1] != channels:
            return False
        if not np.all(np.isfinite(part)):
            return False
    return True


def _constant_weights(node: Node) -> bool:
    weights = node.inputs[1]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if weights is None or weights.array is None or (bias is not None and bias.array is None):
        return False
    if node.kind in {"Conv", "ConvTranspose"}:
        return node.moved and (node.kind == "Conv" or node.attrs.get("group", 1) == 1)
    if node.kind == "Gemm":
        return bool(node.attrs.get("alpha", 1.0) == 1.0 and node.attrs.get("beta", 1.0) == 1.0)
    # A moved MatMul multiplies along a spatial axis, as in resizing.
    return weights.rank == 2 and not node.moved


def _rewrite(g: GraphBuilder, node: Node, scale: Array, shift: Array) -> bool:
    weights = node.inputs[1]
    data = node.inputs[0]
    if weights is None or weights.array is None or data is None:
        return False
    moves = bool(np.any(shift))
    if node.kind == "MatMul" and moves and data.rank != 2:
        return False  # Gemm takes matrices only
    axis = _WEIGHTED[node.kind]
    if node.kind == "Gemm" and node.attrs.get("transB", 0):
        axis = 0
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    kind = weights.array.dtype
    if np.any(scale != 1.0):
        shape = [1] * weights.rank
        shape[axis] = scale.size
        node.inputs[1] = _scaled(g, node.kind, weights, scale.reshape(shape))
    if moves or bias is not None:
        held = np.zeros(1) if bias is None or bias.array is None else bias.array.astype(np.float64)
        moved = np.broadcast_to(held * scale + shift, scale.shape).astype(kind)
        name = f"{node.origin}/bias" if bias is None else bias.name
        node.inputs = [data, node.inputs[1], g.constant(moved, name, weights.dtype)]
        if node.kind == "MatMul":
            node.kind = "Gemm"
    return True


def _scaled(g: GraphBuilder, kind: str, weights: Value, factors: Array) -> Value:
    """Weights times factors, in float64; for large convolutions when they are written."""
    array = weights.array
    if array is None:
        raise InternalError(f"{weights.name!r} is not a constant")
    if kind == "Conv" and array.nbytes > SMALL:
        late = Value(weights.name, weights.dtype, weights.shape, array)
        late.factor = factors if weights.factor is None else weights.factor * factors
        return late
    scaled = np.empty_like(array)
    np.multiply(array, factors, out=scaled, dtype=np.float64, casting="same_kind")
    release(array)
    return g.constant(scaled, weights.name, weights.dtype)


# Padding.


def _take_padding(node: Node, uses: Counter[Value], own: set[Node]) -> None:
    """Merge zero padding into the convolution behind it."""
    data = node.inputs[0]
    pad = data.node if data is not None else None
    if (
        pad is None
        or pad not in own
        or data is None
        or pad.kind != "Pad"
        or uses[data] != 1
        or not node.moved
    ):
        return
    amounts = pad.inputs[1]
    number = pad.inputs[2] if len(pad.inputs) > 2 else None
    source = pad.inputs[0]
    if (
        source is None
        or amounts is None
        or amounts.array is None
        or pad.attrs.get("mode", "constant") != "constant"
    ):
        return
    if number is not None and (number.array is None or np.any(number.array)):
        return
    if len(pad.inputs) > 3 or node.attrs.get("auto_pad", "NOTSET") not in {"NOTSET", "VALID"}:
        return
    pairs = amounts.array.reshape(2, -1)
    if np.any(pairs < 0) or np.any(pairs[:, [0, -1]]):
        return
    here = np.array(node.attrs.get("pads", [0] * (2 * (pairs.shape[1] - 2)))).reshape(2, -1)
    node.attrs["pads"] = [int(n) for n in (here + pairs[:, 1:-1]).reshape(-1)]
    node.attrs.pop("auto_pad", None)
    node.inputs[0] = source
    uses[source] += 1
