"""Einsum as matrix products: few runtimes have it, and ONNX Runtime's crashes on empty tensors."""

from typing import NamedTuple

from pinnace.deploy.onnx.converters.math import reduction
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


class _Term(NamedTuple):
    """A tensor and a label per axis; axes of an ellipsis are "0", "1", ... from the last one."""

    value: Value
    labels: tuple[str, ...]


@converts("Einsum")
def einsum(g: GraphBuilder, call: NodeView, inputs: tuple[Value, ...]) -> Value:
    """Pairwise contractions, from the left."""
    left, arrow, right = call.attr("equation").replace(" ", "").partition("->")
    texts = left.split(",")
    if len(set(right)) != len(right.replace("...", ".")):
        call.fail("an index occurs twice in the equation's result")
    terms = [_Term(x, _labels(text, x.rank)) for text, x in zip(texts, inputs, strict=True)]
    if any(len(set(term.labels)) != len(term.labels) for term in terms):
        return g.op("Einsum", *inputs, equation=_spelled(terms, right, arrow))
    wanted = _result(terms, right, arrow)
    first = terms[0]
    for place, term in enumerate(terms[1:], 1):
        second = term
        later = {label for other in terms[place + 1 :] for label in other.labels}
        if not later and wanted and wanted[-1] in set(first.labels) - set(second.labels):
            first, second = second, first  # in this order the result needs no transpose
        first = _product(g, first, second, set(wanted) | later)
    first = _summed(g, first, set(wanted))
    return g.transpose(first.value, [first.labels.index(label) for label in wanted])


def _labels(text: str, rank: int) -> tuple[str, ...]:
    before, dots, after = text.partition("...")
    if not dots:
        return tuple(text)
    count = rank - len(before) - len(after)
    return (*before, *(str(n) for n in reversed(range(count))), *after)


def _result(terms: list[_Term], right: str, arrow: str) -> tuple[str, ...]:
    everything = [label for term in terms for label in term.labels]
    dots = sorted({label for label in everything if label.isdigit()}, key=int, reverse=True)
    if arrow:
        before, found, after = right.partition("...")
        return (*before, *(dots if found else ()), *after)
    return (
        *dots,
        *sorted(
            label
            for label in set(everything)
            if not label.isdigit() and everything.count(label) == 1
        ),
    )


def _spelled(terms: list[_Term], right: str, arrow: str) -> str:
    """The equation with an index for each axis of an ellipsis, which not all runtimes support."""
    used = {label for term in terms for label in term.labels} | set(right)
    letters = iter(
        [
            letter
            for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
            if letter not in used
        ]
    )
    names = {label: next(letters) for label in sorted(label for label in used if label.isdigit())}

    def text(labels: tuple[str, ...]) -> str:
        return "".join(names.get(label, label) for label in labels)

    return f"{','.join(text(term.labels) for term in terms)}->{text(_result(terms, right, arrow))}"


def _summed(g: GraphBuilder, term: _Term, kept: set[str]) -> _Term:
    """The sum over axes that are no longer needed."""
    gone = [axis for axis, label in enumerate(term.labels) if label not in kept]
    if not gone:
        return term
    value = reduction.total(g, term.value, g.ints(*gone), keep=0)
    return _Term(value, tuple(label for label in term.labels if label in kept))


def _product(g: GraphBuilder, a: _Term, b: _Term, needed: set[str]) -> _Term:
    """The product of two terms: a batched matrix product over the axes that both keep."""
    a = _summed(g, a, needed | set(b.labels))
    b = _summed(g, b, needed | set(a.labels))
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    rows = [label for label in a.labels if label not in shared]
    columns = [label for label in b.labels if label not in shared]
    if not inner:
        return _outer(g, a, b, batch, rows, columns)
    left = _matrix(g, a, batch, rows, inner)
    right = _matrix(g, b, batch, inner, columns)
    product = g.op("MatMul", left, right)
    labels = (*batch, *rows, *columns)
    if len(rows) == len(columns) == 1:
        return _Term(product, labels)
    sizes = [_size(g, (a, b), label) for label in labels]
    return _Term(
        g.reshape(product, g.joined(*sizes)) if sizes else g.squeeze(product, 0, 1), labels
    )


def _outer(
    g: GraphBuilder, a: _Term, b: _Term, batch: list[str], rows: list[str], columns: list[str]
) -> _Term:
    left = g.transpose(a.value, [a.labels.index(label) for label in (*batch, *rows)])
    right = g.transpose(b.value, [b.labels.index(label) for label in (*batch, *columns)])
    start, middle = len(batch), len(batch) + len(rows)
    left = g.unsqueeze(left, *range(middle, middle + len(columns)))
    right = g.unsqueeze(right, *range(start, middle))
    return _Term(g.op("Mul", left, right), (*batch, *rows, *columns))


def _matrix(
    g: GraphBuilder, term: _Term, batch: list[str], first: list[str], second: list[str]
) -> Value:
    """[batch..., all axes of first, all axes of second]."""
    value = g.transpose(
        term.value, [term.labels.index(label) for label in (*batch, *first, *second)]
    )
    if len(first) == len(second) == 1:
        return value
    sizes = [_size(g, (term,), label) for label in batch]
    for group in (first, second):
        total = g.ints(1)
        for label in group:
            size = _size(g, (term,), label)
            total = (
                size
                if total.array is not None and total.array.tolist() == [1]
                else g.op("Mul", total, size)
            )
        sizes.append(total)
    return g.reshape(value, g.joined(*sizes))


def _size(g: GraphBuilder, terms: tuple[_Term, ...], label: str) -> Value:
    """The size of an axis; for an ellipsis the larger one, as 1 broadcasts."""
    found = [
        g.size_of(term.value, term.labels.index(label)) for term in terms if label in term.labels
    ]
    return g.op("Max", *found) if label.isdigit() and len(found) > 1 else found[0]
