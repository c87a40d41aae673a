"""Einstein sums of two arrays, against NumPy's in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels import contraction


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """An equation of two inputs, and their shapes: batch axes, contracted axes, and free axes."""
    kinds = draw(st.lists(st.sampled_from("bslr"), min_size=1, max_size=5))
    labels = "abcdefg"[: len(kinds)]
    sizes = dict(zip(labels, draw(st.tuples(*[st.integers(0, 4)] * len(labels))), strict=True))

    def some(wanted: str) -> list[str]:
        return draw(
            st.permutations([one for one, k in zip(labels, kinds, strict=True) if k in wanted])
        )

    xs, ys, output = some("bsl"), some("bsr"), some("blr")
    if draw(st.booleans()):  # sometimes an axis of one input that is summed
        xs = [*xs, "z"]
        sizes["z"] = 2
    text = f"{''.join(xs)},{''.join(ys)}->{''.join(output)}"
    return text, tuple(sizes[one] for one in xs), tuple(sizes[one] for one in ys)


@given(equations(), st.booleans(), st.sampled_from([None, "same", "strided", "wider"]))
def test_drawn_equations(
    drawn: tuple[str, tuple[int, ...], tuple[int, ...]], is_turned: bool, kind: str | None
) -> None:
    text, *shapes = drawn
    random = np.random.default_rng(len(text))
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    if is_turned and x.ndim:  # reversed memory order; a scalar would become a vector
        x = np.asfortranarray(x)
    wanted = np.einsum(text, x.astype(np.float64), y.astype(np.float64))
    out = None
    if kind == "same":
        out = np.full(wanted.shape, np.nan, np.float32)
    elif kind == "strided":
        out = np.full((*wanted.shape, 2), np.nan, np.float32)[..., 0]
    elif kind == "wider":
        out = np.full(wanted.shape, np.nan, np.float64)
    found = contraction.contract(text, [x, y], out)
    assert out is None or found is out
    assert found.shape == wanted.shape
    assert not np.may_share_memory(found, x)
    # Sums of up to 4^5 products of numbers around 1.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("text", ["ab,bc->ac", "ab,ab->a", "abc,bc->a"])
def test_sizes_that_do_not_fit(text: str) -> None:
    left, right = text.split("->")[0].split(",")
    x, y = np.zeros([2] * len(left), np.float32), np.zeros([3] * len(right), np.float32)
    with pytest.raises(ValueError, match="must have one size, got 2 and 3"):
        contraction.contract(text, [x, y])
    with pytest.raises(ValueError, match="rank"):
        contraction.contract(text, [x[0], y])
