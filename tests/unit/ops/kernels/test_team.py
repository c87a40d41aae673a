"""Threads that share work: every piece once, errors go to the caller, NumPy's products."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels import blas, team
from pinnace.ops.kernels.convolution import conv

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = st.integers(1, 40)


@pytest.fixture(autouse=True, scope="module")
def two() -> Iterator[None]:
    """A team of two, whatever the number of cores, for which every product is large."""
    opened, worth = team._opened, team.WORTH_PRODUCTS
    team._opened, team.WORTH_PRODUCTS = 2, 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "has_idle_core", lambda *_: True)
        yield
    team._opened, team.WORTH_PRODUCTS = opened, worth


@given(pieces=st.integers(0, 50))
def test_every_piece_is_done_once(pieces: int) -> None:
    done = [0] * pieces

    def work(piece: int) -> None:
        done[piece] += 1

    team.share(pieces, work)
    assert done == [1] * pieces


def test_a_helper_takes_part() -> None:
    team._helpers.rest_until = 0.0
    both = threading.Barrier(2, timeout=30)
    team.share(2, lambda _: both.wait() and None)  # would wait forever on one thread


def test_helpers_that_keep_the_caller_waiting_are_left_alone() -> None:
    team._helpers.rest_until = 0.0
    caller = threading.get_ident()
    both = threading.Barrier(2, timeout=30)

    def work(_: int) -> None:
        both.wait()
        if threading.get_ident() != caller:
            time.sleep(0.2)

    team.share(2, work)
    assert team._helpers.rest_until > time.perf_counter()
    workers: set[int] = set()
    team.share(4, lambda _: workers.add(threading.get_ident()))
    assert workers == {caller}


def test_a_wait_that_is_shorter_than_what_was_done_meanwhile_is_worth_it() -> None:
    team._helpers.rest_until = 0.0
    caller = threading.get_ident()
    both = threading.Barrier(2, timeout=30)

    def work(_: int) -> None:
        both.wait()
        time.sleep(0.2 if threading.get_ident() == caller else 0.25)

    team.share(2, work)  # some 0.25 s rather than 0.4
    assert team._helpers.rest_until == 0.0


def test_nobody_is_woken_where_no_core_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    team._helpers.rest_until = 0.0
    monkeypatch.setattr(team, "has_idle_core", lambda *_: False)
    workers: set[int] = set()
    team.share(8, lambda _: workers.add(threading.get_ident()) or time.sleep(0.01))
    assert workers == {threading.get_ident()}


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
def test_a_core_is_idle_while_fewer_threads_run_than_there_are_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(team, "_ANSWER_S", -1.0)
    load = team._Load()
    load._cores = 1 << 20
    assert load.leaves_room(0)
    load._cores = 1  # this thread runs
    assert not load.leaves_room(0)
    assert load.leaves_room(1 << 20)  # all that run are helpers


@pytest.mark.parametrize("bad", range(4))
def test_an_error_reaches_the_caller(bad: int) -> None:
    def work(piece: int) -> None:
        if piece == bad:
            raise ValueError(f"piece {piece}")

    with pytest.raises(ValueError, match=f"piece {bad}"):
        team.share(4, work)
    test_every_piece_is_done_once()


def test_work_may_share_work_of_its_own() -> None:
    done: list[tuple[int, int]] = []
    team.share(3, lambda a: team.share(3, lambda b: done.append((a, b))))
    assert sorted(done) == [(a, b) for a in range(3) for b in range(3)]


def test_callers_at_once_do_not_mix() -> None:
    totals = [0] * 8

    def caller(number: int) -> None:
        for _ in range(50):
            parts = np.zeros(4, int)
            team.share(4, partial(lambda parts, piece: parts.__setitem__(piece, piece + 1), parts))
            totals[number] += int(parts.sum())

    threads = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert totals == [500] * 8


@given(
    batch=st.sampled_from([((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 1), (3,))]),
    sizes=st.tuples(SIZES, SIZES, SIZES),
    flips=st.tuples(st.booleans(), st.booleans()),
    given_out=st.booleans(),
)
def test_products_are_numpys(
    batch: tuple[tuple[int, ...], tuple[int, ...]],
    sizes: tuple[int, int, int],
    flips: tuple[bool, bool],
    given_out: bool,
) -> None:
    m, k, n = sizes
    random = np.random.default_rng(m * 1681 + k * 41 + n)
    # Small integers: sums are exact in any order.
    a = random.integers(-8, 8, (*batch[0], *((k, m) if flips[0] else (m, k)))).astype(np.float32)
    b = random.integers(-8, 8, (*batch[1], *((n, k) if flips[1] else (k, n)))).astype(np.float32)
    a = a.swapaxes(-1, -2) if flips[0] else a
    b = b.swapaxes(-1, -2) if flips[1] else b
    wanted = np.matmul(a, b)
    out = np.full_like(wanted, np.nan) if given_out else None
    found = blas.matmul(a, b, out)
    np.testing.assert_array_equal(found, wanted)
    assert out is None or np.may_share_memory(found, out)


def test_what_does_not_fit_is_numpys_to_refuse() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        blas.matmul(np.ones((40, 3), np.float32), np.ones((4, 40), np.float32))


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_starts_helpers_of_its_own() -> None:
    test_a_helper_takes_part()
    child = os.fork()
    if child == 0:
        team._opened = 2
        both = threading.Barrier(2, timeout=30)
        try:
            team.share(2, lambda _: both.wait() and None)
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@given(
    images=st.integers(1, 5),
    size=st.integers(1, 9),
    channels=st.tuples(st.integers(1, 20), st.integers(1, 6)),
    window=st.integers(1, 3),
    stride=st.integers(1, 2),
)
def test_a_shared_convolution_is_the_same(
    images: int, size: int, channels: tuple[int, int], window: int, stride: int
) -> None:
    random = np.random.default_rng(images * 100 + size)
    # Small integers: sums are exact in any order.
    x = random.integers(-8, 8, (images, size, size, channels[0])).astype(np.float32)
    w = random.integers(-8, 8, (window, window, *channels)).astype(np.float32)
    arguments = (x, w, (stride, stride), ((1, 1), (1, 1)), (1, 1))
    shared = conv(*arguments)
    opened = team._opened
    team._opened = 0
    try:
        np.testing.assert_array_equal(shared, conv(*arguments))
    finally:
        team._opened = opened


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
def test_the_systems_answer_holds_for_a_while_and_for_as_many_helpers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(team, "_ANSWER_S", 60.0)
    load = team._Load()
    load._cores = 1 << 20
    assert load.leaves_room(0)
    load._cores = 1
    assert load.leaves_room(0)  # not checked again
    load._cores = 0
    assert not load.leaves_room(1)
