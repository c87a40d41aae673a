"""The claims that every case of every op must pass.

One example is drawn for all of them, since drawing takes longer than most claims. A failure's
message has the name of the function whose claim failed.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.ops.execute import execute, resolve
from support.opcase import (
    Array,
    Inputs,
    OpCase,
    all_cases,
    arrays_of,
    assert_close,
    differentiable_inputs,
    in_dtype,
    inferred,
    is_float,
    references,
    run,
    run_vjp,
    tensors_of,
)
from support.opened import watched


@pytest.mark.parametrize("case", all_cases(), ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_the_claims_hold(case: OpCase, data: st.DataObject, seed: int) -> None:
    xs, attrs = case.draw(data)
    the_op_computes_its_reference_in_every_dtype(case, xs, attrs)
    the_gradient_is_the_finite_difference(case, xs, attrs, seed)
    first = in_dtype(xs, case.float_dtypes()[0])
    outputs = the_op_opens_nothing_unless_it_says_so(case, first, attrs)
    inference_tells_the_shapes_of_the_outputs(case, first, attrs, outputs)
    an_array_to_fill_gets_the_result(case, first, attrs)
    the_entry_gives_what_execute_gives(case, first, attrs)


def the_op_computes_its_reference_in_every_dtype(
    case: OpCase, xs: Inputs, attrs: dict[str, Any]
) -> None:
    for dtype in case.float_dtypes():
        narrow = in_dtype(xs, dtype)
        given_attrs = dict(attrs)
        resolve(case.definition, tensors_of(narrow), given_attrs)
        found = run(case, narrow, attrs)
        wanted = references(case, narrow)
        assert len(found) == len(wanted)
        kinds = case.definition.output_dtypes(given_attrs)
        for got, right, kind in zip(found, wanted, kinds, strict=True):
            assert got.dtype == kind.numpy, f"{case.op}: {got.dtype}, wanted {kind.name}"
            assert_close(case, got, right)


def the_gradient_is_the_finite_difference(
    case: OpCase, xs: Inputs, attrs: dict[str, Any], seed: int
) -> None:
    chosen = differentiable_inputs(case, xs)
    if not chosen:
        return
    rng = np.random.default_rng(seed)
    # One random direction is enough.
    dxs = [case.project(_direction(rng, x)) if i in chosen else None for i, x in enumerate(xs)]
    step = 1e-6
    ahead = run(case, _moved(xs, dxs, step), attrs)
    behind = run(case, _moved(xs, dxs, -step), attrs)
    # Results that overflow, or are extremes of empty sets, have no finite difference.
    dys = [
        np.where(_moderate(y), _direction(rng, y), 0)
        if is_float(y) or y.dtype.kind == "c"
        else None
        for y in ahead
    ]
    numeric = sum(
        _dot(dy, np.where(_moderate(up), up, 0) - np.where(_moderate(up), down, 0)) / (2 * step)
        for dy, up, down in zip(dys, ahead, behind, strict=True)
        if dy is not None
    )
    size = sum(np.sum(np.abs(y), where=_moderate(y)) for y in ahead if y.dtype.kind in "fc")
    gradients = run_vjp(case, xs, attrs, dys)
    exact = sum(_dot(g, dxs[i]) for g, i in zip(gradients, chosen, strict=True) if g is not None)
    for gradient, i in zip(gradients, chosen, strict=True):
        _assert_alike(gradient, xs[i])
    tolerance = (1e-6 + 1e-9 * size) * case.smooth
    np.testing.assert_allclose(exact, numeric, rtol=1e-5 * case.smooth, atol=tolerance)


def the_op_opens_nothing_unless_it_says_so(
    case: OpCase, xs: Inputs, attrs: dict[str, Any]
) -> tuple[Array, ...]:
    with watched() as opened:  # lazy imports have been done
        outputs = run(case, xs, attrs)
    assert not opened or case.definition.reaches
    return outputs


def inference_tells_the_shapes_of_the_outputs(
    case: OpCase, xs: Inputs, attrs: dict[str, Any], outputs: tuple[Array, ...]
) -> None:
    shapes = [y.shape for y in outputs]
    for known in ("values", "shapes", "ranks", "nothing"):
        told = inferred(case, xs, attrs, known=known)
        assert len(told) == len(shapes)
        for shape, right in zip(told, shapes, strict=True):
            assert shape.is_compatible_with(right), f"{case.op}: {known} {shape}, got {right}"
            if known == "values" and not _depends_on_values(case):
                assert shape.is_fully_defined(), f"{case.op}: {shape} for {right}"


# Shapes of these depend on values that inference does not use.
VALUE_SHAPED = {
    "DenseToDenseSetOperation",
    "DenseToSparseSetOperation",
    "DenseCountSparseOutput",
    "RaggedCountSparseOutput",
    "RaggedGather",
    "RaggedTensorToSparse",
    "RaggedTensorToTensor",
    "ParseExample",
    "ParseExampleV2",
    "ParseSequenceExample",
    "ParseSingleExample",
    "ParseSingleSequenceExample",
    "SparseAdd",
    "SparseConcat",
    "SparseCountSparseOutput",
    "SparseCrossV2",
    "SparseSegmentMeanGradV2",
    "SparseSegmentSqrtNGradV2",
    "SparseSegmentSumGradV2",
    "SparseSlice",
    "SparseSplit",
    "SparseToSparseSetOperation",
    "CTCBeamSearchDecoder",
    "CTCGreedyDecoder",
    "ComputeAccidentalHits",
    "NonMaxSuppression",
    "NonMaxSuppressionWithOverlaps",
    "DecodeBmp",
    "DecodeImage",
    "DecodePng",
    "DecodeWav",
    "NonMaxSuppressionV2",
    "NonMaxSuppressionV3",
    "NonMaxSuppressionV4",
    "NonMaxSuppressionV5",
    "FusedBatchNormV3",
    "StringSplit",
    "StringSplitV2",
    "UnicodeDecode",
    "UnicodeDecodeWithOffsets",
    "BroadcastGradientArgs",
    "SegmentMax",
    "SegmentMean",
    "SegmentMin",
    "SegmentProd",
    "SegmentSum",
    "Unique",
    "UniqueV2",
    "PlaceholderWithDefault",
    "UniqueWithCounts",
    "UniqueWithCountsV2",
    "Where",
    "DynamicPartition",
    "DynamicStitch",
    "ParallelDynamicStitch",
    "ListDiff",
}


def _depends_on_values(case: OpCase) -> bool:
    return case.op in VALUE_SHAPED or case.definition.effect is not None


def the_entry_gives_what_execute_gives(case: OpCase, xs: Inputs, attrs: dict[str, Any]) -> None:
    op = case.definition
    if attrs or any(definition.required for definition in op.attrs.values()):
        return
    inputs = tensors_of(xs)
    by_entry, by_execute = arrays_of(op.entry(*inputs)), arrays_of(execute(op, *inputs))
    again = arrays_of(op.entry(*inputs))  # the entry has seen the shapes now
    for a, b, c in zip(by_entry, by_execute, again, strict=True):
        assert a.dtype == b.dtype == c.dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def an_array_to_fill_gets_the_result(case: OpCase, xs: Inputs, attrs: dict[str, Any]) -> None:
    op = case.definition
    if not op.out or op.kernel is None:
        return
    full = dict(attrs)
    resolve(op, tensors_of(xs), full)
    full = op.full_attrs(full)
    options = {name: full[name] for name in op.kernel_attrs}
    with np.errstate(all="ignore"):
        given = op.kernel(*xs, **options)
        # Of several outputs the first one is filled.
        result = np.asarray(given[0] if len(op.outputs) > 1 else given)
        out = np.full_like(result, 7)
        filled = op.kernel(*xs, **options, out=out)
    np.testing.assert_array_equal(out, result)
    for one, other in zip(filled[1:], given[1:], strict=True) if len(op.outputs) > 1 else ():
        np.testing.assert_array_equal(one, other)


def _direction(rng: np.random.Generator, x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(_direction(rng, part) for part in x)
    drawn: Any = np.asarray(rng.standard_normal(x.shape))
    return drawn + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else drawn


def _moderate(y: Any) -> Any:
    return np.abs(y) < 1e100


def _moved(xs: tuple[Any, ...], dxs: list[Any], step: float) -> tuple[Any, ...]:
    def move(x: Any, dx: Any) -> Any:
        if dx is None:
            return x
        if isinstance(x, tuple):
            return tuple(move(a, b) for a, b in zip(x, dx, strict=True))
        return np.asarray(x + step * dx)

    return tuple(move(x, dx) for x, dx in zip(xs, dxs, strict=True))


def _dot(a: Any, b: Any) -> float:
    if isinstance(a, tuple):
        return sum(_dot(p, q) for p, q in zip(a, b, strict=True) if p is not None)
    # TensorFlow: the gradient of a complex number is the conjugate of the derivative.
    return float(np.real(np.sum(np.conj(a) * b)))


def _assert_alike(gradient: Any, x: Any) -> None:
    if isinstance(x, tuple):
        for part, one in zip(gradient, x, strict=True):
            _assert_alike(part, one)
    elif gradient is not None:
        assert gradient.shape == x.shape
        assert gradient.dtype == x.dtype
