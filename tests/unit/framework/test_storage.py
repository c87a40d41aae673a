"""A value that is taken for replacement: who may write into it, and what others see meanwhile."""

from __future__ import annotations

import copy
import gc
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.framework import dtypes, storage
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.shapes import Shape
from pinnace.framework.storage import Resource
from pinnace.ops.kernels import recycling

if TYPE_CHECKING:
    from collections.abc import Callable

needs_counts = pytest.mark.skipif(
    not storage.FEWEST, reason="counts of references tell nothing in this interpreter"
)
COUNT = 1 << 15


def holding(array: np.ndarray) -> Resource:
    resource = Resource(dtypes.float32, Shape([COUNT]), "w")
    resource.write(array)
    return resource


def own() -> np.ndarray:
    return np.zeros(COUNT, np.float32)


def lent() -> np.ndarray:
    array = recycling.empty((COUNT,), np.float32)
    array[...] = 0
    return array


def is_alone(resource: Resource) -> bool:
    array, found = resource.take(recycling.is_alone)
    resource.give_back(array)
    return found


@needs_counts
@pytest.mark.parametrize("make", [own, lent])
def test_a_value_that_nobody_else_has_may_be_written_into(
    make: Callable[[], np.ndarray],
) -> None:
    resource = holding(make())
    assert is_alone(resource)
    assert is_alone(resource)
    assert resource.version == 3


@pytest.mark.parametrize("make", [own, lent])
@pytest.mark.parametrize(
    "keep",
    [
        lambda array: array,
        lambda array: array[3:7],
        lambda array: array.reshape(-1, 2),
        lambda array: memoryview(array),
        lambda array: np.frombuffer(array, np.uint8),
        lambda array: np.asarray(memoryview(array)),
        lambda array: iter(array),
        lambda array: array.flat,
        lambda array: array.__array_interface__ and [array],
    ],
)
def test_a_value_that_somebody_has_may_not(
    make: Callable[[], np.ndarray], keep: Callable[[np.ndarray], Any]
) -> None:
    resource = holding(make())
    kept = keep(resource.read())
    assert not is_alone(resource)
    del kept
    gc.collect()
    assert is_alone(resource) is bool(storage.FEWEST)


def test_a_value_of_two_variables_may_not() -> None:
    first = holding(own())
    second = holding(first.read())
    assert not is_alone(first)
    assert not is_alone(second)


def test_memory_of_others_may_not() -> None:
    for array in (
        np.frombuffer(bytes(4 * COUNT), np.float32),
        np.frombuffer(bytearray(4 * COUNT), np.float32),
        np.zeros(2 * COUNT, np.float32)[:COUNT],
        np.broadcast_to(np.float32(1), (COUNT,)),
    ):
        assert not is_alone(holding(array))
    fixed = own()
    fixed.flags.writeable = False
    resource = holding(fixed)
    del fixed
    assert not is_alone(resource)


def test_nobody_has_a_value_alone_where_counts_tell_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.setattr(storage, "FEWEST", storage._fewest_references())
    assert not is_alone(holding(own()))


def test_other_threads_wait_for_a_value_that_is_taken() -> None:
    resource = holding(own())
    array, _ = resource.take(recycling.is_alone)
    assert resource.is_initialized
    seen: list[Any] = []
    reads = [lambda: resource.read().copy(), lambda: copy.copy(resource).read()]
    threads = [threading.Thread(target=lambda read=one: seen.append(read())) for one in reads]
    for thread in threads:
        thread.start()
    threads[0].join(0.05)
    assert not seen
    array[...] = 7
    resource.give_back(array)
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert all((one == 7).all() for one in seen)


def test_steps_of_several_threads_are_one_after_the_other() -> None:
    resource = holding(own())
    rounds = 300

    def step() -> None:
        for _ in range(rounds):
            array, alone = resource.take(recycling.is_alone)
            new = array if alone else array.copy()
            new += 1
            resource.give_back(new)

    def add() -> None:
        for _ in range(rounds):
            resource.update(np.add, np.float32(1))

    whole: list[bool] = []

    def read() -> None:
        for _ in range(rounds):
            array = resource.read()
            whole.append(bool((array == array[0]).all()))

    threads = [threading.Thread(target=one) for one in (step, step, add, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (resource.read() == 3 * rounds).all()
    assert all(whole)


def test_the_thread_that_took_a_value_may_ask_for_it() -> None:
    # As in a signal handler, which runs in the middle of a step.
    resource = holding(own())
    array, _ = resource.take(recycling.is_alone)
    assert resource.read() is array
    again, alone = resource.take(recycling.is_alone)
    assert again is array
    assert not alone
    resource.update(np.add, np.float32(1))
    resource.give_back(array)
    assert resource.read() is array


def _add(resource: Resource) -> None:
    resource.update(np.add, np.float32(2))


def _step(resource: Resource) -> None:
    array, alone = resource.take(recycling.is_alone)
    assert not alone  # the thread still holds it
    resource.give_back(array + 2)


@pytest.mark.parametrize("change", [_add, _step])
def test_a_thread_that_never_comes_back_is_waited_for_once(
    change: Callable[[Resource], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_LONGEST_S", 0.02)
    resource = holding(own())
    held: list[Any] = []
    thread = threading.Thread(target=lambda: held.append(resource.take(recycling.is_alone)))
    thread.start()
    thread.join()
    change(resource)
    assert (resource.read() == 2).all()
    monkeypatch.setattr(storage, "_LONGEST_S", 600.0)
    held.clear()
    resource.update(np.add, np.float32(2))
    assert (resource.read() == 4).all()
    assert is_alone(resource) is bool(storage.FEWEST)


def test_what_has_no_value_cannot_be_taken() -> None:
    resource = Resource(dtypes.float32, Shape([COUNT]), "w")
    with pytest.raises(FailedPreconditionError, match="variable 'w' has no value yet"):
        resource.take(recycling.is_alone)
    resource.source = own
    array, _ = resource.take(recycling.is_alone)
    assert (array == 0).all()
    resource.give_back(array)


def test_a_copy_is_a_resource_of_its_own() -> None:
    resource = holding(own())
    other = copy.deepcopy(resource)
    array, _ = other.take(recycling.is_alone)
    array += 1
    other.give_back(array)
    assert (resource.read() == 0).all()
