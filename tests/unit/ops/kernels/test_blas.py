"""Products outside plans: BLAS keeps its threads until they lose a time slice."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped] # has no types

from pinnace.ops.kernels import blas, blas_threads

A = np.ones((64, 128), np.float32)
B = np.full((128, 64), 2.0, np.float32)


class Clock:
    """A fake clock, which advances when a product runs."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.product_s = 1e-4
        self.alone: list[bool] = []

    def __call__(self) -> float:
        return self.now

    def product(self, *arguments: Any) -> Any:
        self.now += self.product_s
        self.alone.append(blas.one_thread._inside > 0)
        return np.matmul(*arguments[:2])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(blas, "perf_counter", made)
    monkeypatch.setattr(blas, "_shared", made.product)
    monkeypatch.setattr(blas, "_alone_until", 0.0)
    return made


def test_a_product_that_lost_a_time_slice_puts_blas_on_one_thread_for_a_while(clock: Clock) -> None:
    for seconds, wait in ((1e-4, 0.0), (0.03, 0.0), (1e-4, 0.5), (1e-4, 0.6), (1e-4, 0.0)):
        clock.product_s = seconds
        clock.now += wait
        np.testing.assert_array_equal(blas.matmul(A, B), np.full((64, 64), 256.0))
    # The second was slow; the third runs on one thread; 1.1 s later BLAS has its threads again.
    assert clock.alone == [False, False, True, False, False]
    assert blas.one_thread._inside == 0


def test_a_large_product_may_take_its_time(clock: Clock) -> None:
    clock.product_s = 0.2
    large = np.ones((1024, 1024), np.float32)  # 2**30 multiplications: 0.27 s on a slow core
    blas.matmul(large, large)
    blas.matmul(large, large)
    assert clock.alone == [False, False]


def test_small_products_are_not_watched(clock: Clock) -> None:
    clock.product_s = 0.03
    blas.matmul(A[:8, :8], B[:8, :8])
    assert blas._alone_until == 0.0


def test_plans_of_all_threads_put_blas_on_one_thread_and_the_last_gives_it_back() -> None:
    """Also if another thread, which still lives, was the first to set a number."""
    found = blas_threads.libraries()
    assert found
    before = [library.get() for library in found]
    for library in found:
        library.set(2)
    own = blas.OneThread()
    inside, leave, left = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        with own:
            inside.set()
            leave.wait(30)
        left.set()
        leave.clear()
        leave.wait(30)

    thread = threading.Thread(target=other)
    try:
        ThreadpoolController().select(user_api="blas").limit(limits=2)
        thread.start()
        assert inside.wait(30)
        assert [library.get() for library in found] == [1] * len(found)
        with own:
            leave.set()
            assert left.wait(30)
            assert [library.get() for library in found] == [1] * len(found)
        assert [library.get() for library in found] == [2] * len(found)
    finally:
        leave.set()
        thread.join(30)
        for library, threads in zip(found, before, strict=True):
            library.set(threads)
