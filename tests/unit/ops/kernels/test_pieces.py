"""Pieces of work that machine code shares: NumPy's results, whichever thread computes them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnace.framework import config
from pinnace.ops.kernels import blas, mailbox, pieces, products, team
from support import waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.tensor import Array


@pytest.fixture(autouse=True, scope="module")
def two() -> Iterator[None]:
    """A team of two that other processes do not disturb, and the kernel that makes calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "compiled")
        patch.setattr(team, "_MOST", 2)
        patch.setattr(team, "_opened", 2)
        patch.setattr(team, "has_idle_core", lambda *_: True)
        patch.setattr(team._Helpers, "_judge", lambda *_: None)
        if not pieces.can_call() or not products._address("cblas_sgemv"):
            pytest.skip("no machine code, or no OpenBLAS, here")
        products._job.cache_clear()
        yield
        products._job.cache_clear()


def laid_out(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Normal numbers in row-major or column-major order, or as a slice of a larger array."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["rows", "columns", "part"]))
    if kind == "columns":
        flipped = random.normal(size=(*shape[:-2], shape[-1], shape[-2])).astype("f")
        return flipped.swapaxes(-1, -2)
    extra = 3 if kind == "part" else 0
    whole = random.normal(size=(*shape[:-1], shape[-1] + extra)).astype("f")
    return whole[..., : shape[-1]]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    """Two matrices, or broadcast batches of them."""
    sizes = st.one_of(st.just(1), st.integers(1, 70))
    rows, inner, columns = (draw(sizes) for _ in range(3))
    batch = draw(st.lists(st.integers(1, 4), max_size=3))
    leading = []
    for _ in range(2):
        own = [size if draw(st.booleans()) else 1 for size in batch]
        leading.append(tuple(own[draw(st.integers(0, len(own))) :]))
    return laid_out(draw, (*leading[0], rows, inner)), laid_out(draw, (*leading[1], inner, columns))


@settings(max_examples=150, deadline=None)
@given(pair=pairs(), into=st.booleans())
def test_products_are_those_of_double_precision(pair: tuple[Array, Array], into: bool) -> None:
    a, b = pair
    wanted = np.matmul(a.astype("d"), b.astype("d"))
    out = np.full(wanted.shape, np.nan, "f") if into else None
    found = products.offered(a, b, out, team.WORTH_PRODUCTS)
    if found is None:
        assert out is None or np.isnan(out).all()
        return
    assert out is None or found is out
    # Sums of at most 70 float32 products, each with an error of about half an ulp.
    bound = 1e-5 * np.matmul(np.abs(a).astype("d"), np.abs(b).astype("d"))
    assert (np.abs(found - wanted) <= bound + 1e-30).all()


@pytest.mark.parametrize(
    ("a", "b"),
    [((96, 40), (40, 33)), ((33, 40), (40, 96)), ((3, 5, 8, 9), (3, 5, 9, 7)), ((4, 8, 9), (9, 7))],
)
def test_what_is_cut_is_offered(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=shape).astype("f") for shape in (a, b))
    found = products.offered(x, y, None, 1)
    assert found is not None
    np.testing.assert_allclose(found, np.matmul(x.astype("d"), y), rtol=1e-4, atol=1e-4)


def test_other_numbers_are_left_to_numpy() -> None:
    a = np.ones((64, 64))
    assert products.offered(a, a, None, 1) is None
    half = np.ones((64, 64), np.float16)
    assert products.offered(half, half, None, 1) is None
    strange = np.ones((64, 128), "f")[:, ::2]
    assert products.offered(strange, strange, None, 1) is None


def test_a_helper_takes_part_and_sleeps_again() -> None:
    """The job records how many pieces were the caller's."""
    random = np.random.default_rng(0)
    a, b = (random.normal(size=(256, 256)).astype("f") for _ in range(2))
    alone = np.matmul(a.astype("d"), b)
    jobs: list[Array] = []
    with pytest.MonkeyPatch.context() as patch:
        original = pieces._Offer.__init__

        def watched(self: pieces._Offer, kernel: object, job: Array) -> None:
            jobs.append(job)
            original(self, kernel, job)  # type: ignore[arg-type]

        patch.setattr(pieces._Offer, "__init__", watched)

        def is_helped() -> bool:
            found = products.offered(a, b, None, team.WORTH_PRODUCTS)
            np.testing.assert_allclose(found, alone, rtol=1e-4, atol=1e-3)
            return bool(jobs[-1][pieces.DONE] < jobs[-1][pieces.PIECES])

        waiting.until(is_helped, 60)
    box = team._helpers._posts[team.PIECES].box
    waiting.until(lambda: box[mailbox.WAITING] == 0, 30)
    assert box[mailbox.INSIDE] == 0
    assert box[mailbox.GATE] % 2 == 0


def test_callers_at_once_do_not_mix() -> None:
    random = np.random.default_rng(1)
    given_ = [random.normal(size=(2, 96, 96)).astype("f") for _ in range(3)]
    wrong: list[bool] = []

    def caller(pair: Array) -> None:
        wanted = np.matmul(pair[0].astype("d"), pair[1])
        for _ in range(300):
            found = products.offered(pair[0], pair[1], None, team.WORTH_PRODUCTS)
            wrong.append(found is None or not np.allclose(found, wanted, rtol=1e-4, atol=1e-3))

    callers = [threading.Thread(target=caller, args=(pair,)) for pair in given_]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert len(wrong) == 900
    assert not any(wrong)


def test_work_of_python_and_of_machine_code_in_turn() -> None:
    """A helper that waits in machine code joins when Python's work needs two threads."""
    a = np.ones((64, 64), "f")
    for _ in range(20):
        for _ in range(10):
            assert products.offered(a, a, None, team.WORTH_PRODUCTS) is not None
        wait = threading.Barrier(2, timeout=30).wait
        team.share(2, lambda _, wait=wait: wait() and None, threads=2)  # one would wait forever


def test_large_products_of_plans_are_offered() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(512, 128)).astype("f"), random.normal(size=(128, 96)).astype("f")
    with pytest.MonkeyPatch.context() as patch, blas.one_thread:
        patch.setattr(team, "_opened", 2)
        offered: list[int] = []
        original = pieces.Job.run

        def run(self: pieces.Job, *given: object, **options: object) -> int:
            offered.append(1)
            return original(self, *given, **options)  # type: ignore[arg-type]

        patch.setattr(pieces.Job, "run", run)
        found = blas.matmul(a, b)
    assert offered
    np.testing.assert_allclose(found, a.astype("d") @ b, rtol=1e-4, atol=1e-4)
