"""Memory is reused only when no reader sees its old contents."""

from __future__ import annotations

import gc
import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels import recycling


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_memory_comes_back_when_the_last_view_has_died() -> None:
    first = recycling.empty((300, 100), np.float32)
    place = address(first)
    view = first[10:20, ::2]
    view[...] = 7
    del first
    gc.collect()
    held = [recycling.empty((300, 100), np.float32) for _ in range(4)]
    assert all(address(one) != place for one in held)
    for one in held:
        one[...] = 0
    assert (view == 7).all()
    del view
    gc.collect()
    assert address(recycling.empty((300, 100), np.float32)) == place


@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.integers(1, 4000), st.sampled_from("fdib")), max_size=8
    )
)
def test_arrays_that_live_at_once_do_not_share_memory(
    wanted: list[tuple[int, int, str]],
) -> None:
    made = [recycling.empty((rows, width), kind) for rows, width, kind in wanted]
    for number, array in enumerate(made):
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
        array[...] = number
    for number, array in enumerate(made):
        assert (array == number).all()


def test_what_waits_is_bounded() -> None:
    for size in range(1, 40):
        recycling.empty((size, 1 << 20), np.int8)
    gc.collect()
    assert recycling._store._held <= recycling._MOST
    assert recycling._store._held == sum(
        size * len(blocks) for size, blocks in recycling._store._blocks.items()
    )


def test_threads_get_memory_of_their_own() -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(300):
            array = recycling.empty((200, 100), np.float32)
            array[...] = number
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
