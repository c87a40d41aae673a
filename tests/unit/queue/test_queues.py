"""Queues against models of plain lists, and blocking; the shuffled order is TensorFlow's."""

import heapq
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from support.waiting import until

SCALARS = {"dtypes": tf.int64, "shapes": [()]}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.integers(0, 99), min_size=1, max_size=4)),
        st.tuples(st.just("take"), st.integers(0, 4)),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_a_fifo_queue_is_a_list(steps):
    queue, model = tf.queue.FIFOQueue(1000, **SCALARS), []
    for what, value in steps:
        if what == "put":
            queue.enqueue_many([value])
            model += value
        else:
            count = min(value, len(model))
            found = queue.dequeue_many(count).numpy().tolist()
            assert found == model[:count]
            del model[:count]
        assert queue.size() == len(model)


@given(steps=STEPS)
def test_a_priority_queue_is_a_heap(steps):
    queue, model = tf.queue.PriorityQueue(1000, tf.int64, [()]), []
    for what, value in steps:
        if what == "put":
            queue.enqueue_many([value, [-x for x in value]])
            for x in value:
                heapq.heappush(model, x)
        else:
            count = min(value, len(model))
            priorities, found = queue.dequeue_many(count)
            expected = [heapq.heappop(model) for _ in range(count)]
            assert priorities.numpy().tolist() == expected
            np.testing.assert_array_equal(found, -priorities)


@given(rows=st.lists(st.lists(st.integers(1, 9), max_size=5), min_size=1, max_size=5))
def test_a_padding_queue_pads(rows):
    queue = tf.queue.PaddingFIFOQueue(10, tf.int64, [(None,)])
    for row in rows:
        queue.enqueue([np.array(row, np.int64)])
    expected = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for at, row in enumerate(rows):
        expected[at, : len(row)] = row
    np.testing.assert_array_equal(queue.dequeue_many(len(rows)), expected)


def test_a_shuffled_order_is_tensorflows():
    # TensorFlow 2.21, the same calls.
    queue = tf.queue.RandomShuffleQueue(20, 2, tf.int32, [()], seed=7)
    queue.enqueue_many([list(range(12))])
    assert queue.dequeue_many(10).numpy().tolist() == [3, 10, 5, 4, 0, 8, 7, 6, 9, 1]
    queue.close()
    assert queue.dequeue_up_to(5).numpy().tolist() == [11, 2]


def test_components_may_have_names():
    queue = tf.queue.FIFOQueue(3, [tf.int32, tf.string], [(), ()], names=["n", "word"])
    queue.enqueue({"word": "a", "n": 1})
    found = queue.dequeue()
    assert (found["n"], found["word"]) == (1, b"a")
    with pytest.raises(ValueError, match="do not match names"):
        queue.enqueue({"n": 1})
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        queue.enqueue([1, "a"])


def test_strings_stay_tensors_of_strings():
    queue = tf.queue.FIFOQueue(3, tf.string, [()])
    queue.enqueue_many([["a", "bcd"]])
    np.testing.assert_array_equal(
        tf.strings.join([queue.dequeue_many(2), "!"]), np.array([b"a!", b"bcd!"], object)
    )


def test_a_function_runs_its_ops_in_order():
    queue = tf.queue.FIFOQueue(3, tf.int32, [(2,)])

    @tf.function
    def program(x):
        queue.enqueue([x])
        queue.enqueue([x + 1])
        first = queue.dequeue()
        assert first.shape == [2]
        return first, queue.size(), queue.dequeue_many(1)

    first, size, rest = program(tf.constant([5, 6]))
    np.testing.assert_array_equal(first, [5, 6])
    assert size == 1
    np.testing.assert_array_equal(rest, [[6, 7]])


def test_what_is_put_in_does_not_change():
    queue = tf.queue.FIFOQueue(3, tf.float32, [(2,)])
    array = np.ones(2, np.float32)
    queue.enqueue([array])
    array[:] = 7
    np.testing.assert_array_equal(queue.dequeue(), [1, 1])


class Caller(threading.Thread):
    """A call in a separate thread: its result, or exception."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call = call
        self.result = None
        self.start()

    def run(self):
        try:
            self.result = self.call()
        except tf.errors.OpError as error:
            self.result = error

    def ended(self):
        self.join(30)
        assert not self.is_alive()
        return self.result


def waiting(queue, line):
    """Waits until one call waits in a line of the queue, which the test looks into."""
    state = np.asarray(queue.queue_ref._array)[()]
    until(lambda: len(getattr(state, line)) == 1)


def test_a_call_waits_for_elements():
    queue = tf.queue.FIFOQueue(10, tf.int32, [()])
    caller = Caller(lambda: queue.dequeue_many(3).numpy().tolist())
    waiting(queue, "_taking")
    queue.enqueue_many([[1, 2]])
    until(lambda: queue.size() == 0)  # new elements are taken at once
    queue.enqueue(3)
    assert caller.ended() == [1, 2, 3]


def test_a_function_waits_for_elements_too():
    queue = tf.queue.FIFOQueue(10, tf.int32, [()])
    caller = Caller(lambda: int(tf.function(lambda: queue.dequeue() + 1)()))
    waiting(queue, "_taking")
    queue.enqueue(3)
    assert caller.ended() == 4


def test_a_call_waits_for_room_and_closing_waits_for_the_call():
    queue = tf.queue.FIFOQueue(2, tf.int32, [()])
    caller = Caller(lambda: queue.enqueue_many([[1, 2, 3, 4]]))
    until(lambda: queue.size() == 2)
    closing = Caller(queue.close)
    state = np.asarray(queue.queue_ref._array)[()]
    until(lambda: len(state._putting) == 2)
    assert not queue.is_closed()
    assert queue.dequeue_many(4).numpy().tolist() == [1, 2, 3, 4]
    assert (caller.ended(), closing.ended()) == (None, None)
    assert queue.is_closed()
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        queue.enqueue(1)
    with pytest.raises(tf.errors.CancelledError, match="already closed"):
        queue.close()


def test_cancelling_refuses_calls_that_wait_for_room():
    queue = tf.queue.FIFOQueue(2, tf.int32, [()])
    caller = Caller(lambda: queue.enqueue_many([[1, 2, 3, 4]]))
    until(lambda: queue.size() == 2)
    queue.close(cancel_pending_enqueues=True)
    error = caller.ended()
    assert isinstance(error, tf.errors.CancelledError)
    assert "was cancelled" in str(error)
    assert queue.size() == 2


def test_closing_ends_calls_that_wait_for_elements():
    queue = tf.queue.FIFOQueue(9, tf.int32, [()])
    queue.enqueue(1)
    caller = Caller(lambda: queue.dequeue_many(4))
    until(lambda: queue.size() == 0)
    queue.close()
    error = caller.ended()
    assert isinstance(error, tf.errors.OutOfRangeError)
    assert "is closed and has insufficient elements" in str(error)
    assert queue.dequeue_up_to(4).numpy().tolist() == [1]  # given back
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda: tf.queue.RandomShuffleQueue(2, 3, tf.int32),
            tf.errors.InvalidArgumentError,
            "must be < capacity",
        ),
        (lambda: tf.queue.PaddingFIFOQueue(3, tf.int32, None), ValueError, "list of shapes"),
        (lambda: tf.queue.FIFOQueue(3, tf.int32, names=["a", "b"]), ValueError, "List of names"),
        (
            lambda: tf.queue.FIFOQueue(3, tf.int32).dequeue_many(1),
            tf.errors.InvalidArgumentError,
            "specified shapes",
        ),
        (
            lambda: tf.queue.FIFOQueue(3, tf.int32, [(2,)]).enqueue([[1, 2, 3]]),
            ValueError,
            r"\[3\] and \[2\]",
        ),
        (lambda: tf.queue.QueueBase.from_list(0, []), TypeError, "list of queues"),
    ],
)
def test_what_is_wrong_is_said(make, error, says):
    with pytest.raises(error, match=says):
        make()
