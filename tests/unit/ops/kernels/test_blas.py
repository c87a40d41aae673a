"""Products outside of plans: BLAS keeps its threads until they lose a time slice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pinnace.ops.kernels import blas

A = np.ones((64, 128), np.float32)
B = np.full((128, 64), 2.0, np.float32)


class Clock:
    """Seconds that pass when a product runs."""

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
    large = np.ones((1024, 1024), np.float32)  # 2**30 multiplications: 0.27 s of a slow core
    blas.matmul(large, large)
    blas.matmul(large, large)
    assert clock.alone == [False, False]


def test_small_products_are_not_watched(clock: Clock) -> None:
    clock.product_s = 0.03
    blas.matmul(A[:8, :8], B[:8, :8])
    assert blas._alone_until == 0.0
