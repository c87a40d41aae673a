"""Matrix products and Einsum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.converters.convolution import fused, no_bias
from pinnace.deploy.lite.converters.element_types import computed, type_for
from pinnace.deploy.lite.converters.registry import converts
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.lite.converters.node_view import NodeView
    from pinnace.deploy.lite.ir.builder import GraphBuilder
    from pinnace.deploy.lite.ir.model import Tensor

# Integer products in float32: the largest magnitude of each type, and the bound up to which sums
# are exact.
_LARGEST = {dtypes.int8: 128, dtypes.uint8: 255}
_EXACT = 1 << 24


def product(
    g: GraphBuilder, x: Tensor, y: Tensor, adj_x: bool = False, adj_y: bool = False
) -> Tensor:
    """Matrix product over the last two axes; FULLY_CONNECTED if the second matrix is a constant."""
    rank = x.rank or 2
    is_dense = y.data is not None and y.rank == 2 and x.dtype.is_floating and not adj_x
    columns = y.shape[-2 if adj_y else -1] if y.rank else None
    rows = x.shape[-1 if adj_x else -2] if x.rank else None
    if is_dense and x.rank is not None and rank >= 2 and 0 not in y.shape:
        return g.op(
            "FULLY_CONNECTED",
            x,
            y if adj_y else g.transpose(y, [1, 0]),
            no_bias(g, columns, x.dtype),
            shape=[*list(x.shape)[:-1], columns],
            keep_num_dims=rank > 2,
        )
    kind = type_for("BATCH_MATMUL", x.dtype)
    shape = None
    if x.rank == y.rank and x.rank is not None:
        front = [
            b if a in {1, None} else a
            for a, b in zip(list(x.shape)[:-2], list(y.shape)[:-2], strict=True)
        ]
        shape = [*front, rows, columns]
    made = g.op(
        "BATCH_MATMUL",
        g.cast(x, kind),
        g.cast(y, kind),
        shape=shape or [None] * max(x.rank or 2, y.rank or 2),
        adj_x=adj_x,
        adj_y=adj_y,
    )
    return g.cast(made, x.dtype)


@converts("MatMul", to="FULLY_CONNECTED BATCH_MATMUL")
def mat_mul(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """FULLY_CONNECTED if the second matrix is a constant, else BATCH_MATMUL."""
    return product(g, x, y, bool(call.attr("transpose_a")), bool(call.attr("transpose_b")))


@converts("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", to="BATCH_MATMUL FULLY_CONNECTED")
def batch_mat_mul(g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor) -> Tensor:
    """FULLY_CONNECTED if the second operand is one constant matrix, else BATCH_MATMUL."""
    if x.dtype is not y.dtype:
        call.fail("its operands have different element types")
    call.rank(0), call.rank(1)
    adjoint = bool(call.attr("adj_x")), bool(call.attr("adj_y"))
    if x.dtype.is_integer:
        _refuse_inexact(call, x, adjoint[0])
        x, y = g.cast(x, dtypes.float32), g.cast(y, dtypes.float32)
    return g.cast(product(g, x, y, *adjoint), call.dtype())


def _refuse_inexact(call: NodeView, x: Tensor, adjoint: bool) -> None:
    """Refuse integer products whose sums may exceed what float32 holds exactly."""
    most = _LARGEST.get(x.dtype)
    length = call.input_spec(0).shape[-2 if adjoint else -1]
    if most is None or length is None or length * most * most > _EXACT:
        call.fail(
            "its sums of integers may exceed what float32 holds exactly, and LiteRT has no integer "
            "kernel\n"
            "  Try: cast its operands to float32"
        )


@converts("_FusedMatMul", to="FULLY_CONNECTED")
def fused_mat_mul(
    g: GraphBuilder, call: NodeView, x: Tensor, y: Tensor, rest: tuple[Tensor, ...]
) -> Tensor:
    """The product, then the fused steps."""
    made = product(g, x, y, bool(call.attr("transpose_a")), bool(call.attr("transpose_b")))
    if rest and made.shape[-1] is None:
        call.fail("the number of its columns must be known: XNNPACK adds no bias of unknown size")
    return fused(g, call, made, rest, call.attr("fused_ops"))


@converts("Einsum", to="BATCH_MATMUL TRANSPOSE RESHAPE SUM MUL")
def einsum(g: GraphBuilder, call: NodeView, xs: tuple[Tensor, ...]) -> Tensor:
    """Einsum of one or two tensors as sums, transposes and one batched matrix product."""
    equation = call.attr("equation")
    text = (equation.decode() if isinstance(equation, bytes) else str(equation)).replace(" ", "")
    left, _, out = text.partition("->")
    terms = left.split(",")
    if any(x.rank is None for x in xs):
        call.fail("the rank of its inputs must be known")
    terms, out = _without_dots(call, terms, out, [x.rank or 0 for x in xs])
    if any(len(set(term)) != len(term) for term in (*terms, out)):
        call.fail("an index occurs twice in one term")
    if len(xs) == 1:
        return _ordered(g, _summed(g, xs[0], terms[0], out)[0], _kept(terms[0], out), out)
    if len(xs) != 2:
        call.fail("it has more than two operands")
    return _two(g, xs, terms, out)


def _without_dots(
    call: NodeView, terms: list[str], out: str, ranks: Sequence[int]
) -> tuple[list[str], str]:
    """The terms with new letters in place of ellipses, aligned from the right."""
    spare = [chr(n) for n in range(ord("A"), ord("Z") + 1)]
    spare = [c for c in spare if c not in "".join(terms)]
    counts = [
        rank - len(term.replace("...", "")) if "..." in term else 0
        for term, rank in zip(terms, ranks, strict=True)
    ]
    most = max(counts)
    if len([n for n in counts if n]) > 1 and len({n for n in counts if n}) > 1:
        call.fail("its ellipses stand for different numbers of axes")
    letters = "".join(spare[:most])
    named = [
        term.replace("...", letters[most - count :] if count else "")
        for term, count in zip(terms, counts, strict=True)
    ]
    return named, out.replace("...", letters)


def _kept(term: str, wanted: str) -> str:
    return "".join(c for c in term if c in wanted)


def _summed(g: GraphBuilder, x: Tensor, term: str, wanted: str) -> tuple[Tensor, str]:
    """The tensor summed over the indices that occur nowhere else, and its remaining indices."""
    axes = [i for i, c in enumerate(term) if c not in wanted]
    if not axes:
        return x, term
    kind = type_for("SUM", x.dtype)
    shape = [n for i, n in enumerate(x.shape) if i not in axes]
    total = g.op("SUM", g.cast(x, kind), g.ints(axes), shape=shape, keep_dims=False)
    return g.cast(total, x.dtype), _kept(term, wanted)


def _ordered(g: GraphBuilder, x: Tensor, term: str, wanted: str) -> Tensor:
    return g.transpose(x, [term.index(c) for c in wanted])


def _two(g: GraphBuilder, xs: tuple[Tensor, ...], terms: list[str], out: str) -> Tensor:
    a, left = _summed(g, xs[0], terms[0], terms[1] + out)
    b, right = _summed(g, xs[1], terms[1], terms[0] + out)
    batch = [c for c in left if c in right and c in out]
    inner = [c for c in left if c in right and c not in out]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    if not inner and not columns and not rows:
        return computed(g, "MUL", _ordered(g, a, left, out), _ordered(g, b, right, out))
    sizes: dict[str, int | Tensor] = {}
    for x, term in ((a, left), (b, right)):
        for axis, c in enumerate(term):
            known = sizes.get(c)
            if known is None or not isinstance(known, int):
                sizes[c] = g.size(x, axis)
    is_dense = b.data is not None and not batch
    a = _ordered(g, a, left, "".join([*batch, *rows, *inner]))
    b = _ordered(g, b, right, "".join([*batch, *inner, *columns]))
    fronts = [sizes[c] for c in batch]
    if is_dense and len(rows) >= 1:
        # The rows keep their axes, since FULLY_CONNECTED takes any rank.
        a = _grouped(g, a, [[sizes[c]] for c in rows] + [[sizes[c] for c in inner]])
        b = _grouped(g, b, [[sizes[c] for c in inner], [sizes[c] for c in columns]])
    else:
        a = _grouped(
            g, a, [[n] for n in fronts] + [[sizes[c] for c in rows], [sizes[c] for c in inner]]
        )
        b = _grouped(
            g, b, [[n] for n in fronts] + [[sizes[c] for c in inner], [sizes[c] for c in columns]]
        )
    made = product(g, a, b)
    letters = "".join([*batch, *rows, *columns])
    made = g.reshape_to(made, [sizes[c] for c in letters])
    return _ordered(g, made, letters, out)


def _grouped(g: GraphBuilder, x: Tensor, groups: Sequence[Sequence[int | Tensor]]) -> Tensor:
    """The tensor with each group of adjacent axes merged into one."""
    if all(len(group) == 1 for group in groups):
        return x
    sizes: list[int | Tensor] = []
    for group in groups:
        found: int | Tensor = 1
        for size in group:
            if isinstance(found, int) and isinstance(size, int):
                found *= size
            else:
                left = g.ints(found) if isinstance(found, int) else found
                right = g.ints(size) if isinstance(size, int) else size
                found = g.op("MUL", left, right, shape=[])
        sizes.append(found)
    return g.reshape_to(x, sizes)
