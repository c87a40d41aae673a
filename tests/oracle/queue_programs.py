"""Queues and threads; see `both`.

python queue_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
import threading
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode()
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return plain(np.asarray(x).tolist())


def told(call: Any) -> Any:
    """The result of a call, or the class of its error."""
    try:
        return plain(call())
    except (tf.errors.OpError, TypeError, ValueError) as error:
        return type(error).__name__


def fifo() -> Any:
    queue = tf.queue.FIFOQueue(3, [tf.int32], shapes=[()])
    return [
        told(call)
        for call in (
            *(lambda: queue.enqueue(1), lambda: queue.enqueue_many([[2, 3]]), queue.size),
            *(queue.dequeue, lambda: queue.dequeue_many(2), queue.close, queue.is_closed),
            *(queue.close, queue.dequeue, lambda: queue.enqueue(1)),
            *(lambda: queue.dequeue_many(0), lambda: queue.dequeue_many(-1)),
            lambda: queue.dequeue_up_to(3),
        )
    ]


def components() -> Any:
    pair = tf.queue.FIFOQueue(3, [tf.int32, tf.string])
    vectors = tf.queue.FIFOQueue(3, [tf.int32], shapes=[(2,)])
    named = tf.queue.FIFOQueue(4, [tf.int32, tf.float32], names=["a", "b"], shapes=[(), ()])
    return [
        told(call)
        for call in (
            *(lambda: pair.enqueue([1, "a"]), pair.dequeue, lambda: pair.dequeue_many(1)),
            *(lambda: pair.enqueue(["a", 1]), lambda: pair.enqueue_many([[1, 2], ["a"]])),
            *(lambda: pair.enqueue_many([1, "a"]), lambda: [t.name for t in pair.dtypes]),
            *(lambda: vectors.enqueue([[1, 2, 3]]), lambda: vectors.enqueue_many([[[1, 2, 3]]])),
            *(lambda: named.enqueue({"a": 1, "b": 2.0}), lambda: named.enqueue([1, 2.0])),
            *(lambda: named.enqueue({"a": 1}), lambda: named.dequeue_up_to(1)),
        )
    ]


def padding() -> Any:
    queue = tf.queue.PaddingFIFOQueue(4, [tf.int32, tf.string], shapes=[(None, 2), (None,)])
    queue.enqueue([[[1, 2]], ["x"]])
    queue.enqueue([[[3, 4], [5, 6]], ["y", "z", "w"]])
    return [queue.dequeue_many(2), told(lambda: queue.enqueue([[1], ["x"]]))]


def priority() -> Any:
    queue = tf.queue.PriorityQueue(9, [tf.string], shapes=[()])
    for number in (5, 2, -3, 8, 1):
        queue.enqueue([number, f"no {number}"])
    return [queue.dequeue(), queue.dequeue_many(3), [t.name for t in queue.dtypes], queue.size()]


def shuffled() -> Any:
    found = []
    for seed, least, n in ((7, 2, 10), (0, 0, 12), (123456789, 3, 9)):
        queue = tf.queue.RandomShuffleQueue(20, least, [tf.int32], shapes=[()], seed=seed)
        queue.enqueue_many([list(range(12))])
        first = queue.dequeue_many(n)
        queue.enqueue_many([[20, 21, 22]])
        queue.close()
        found += [first, queue.dequeue_up_to(8)]
    tf.random.set_seed(3)
    queue = tf.queue.RandomShuffleQueue(20, 0, [tf.int32], shapes=[()])
    queue.enqueue_many([list(range(12))])
    return [*found, [queue.dequeue() for _ in range(12)]]


def in_a_function() -> Any:
    queue = tf.queue.FIFOQueue(2, [tf.int32], shapes=[()])

    def program() -> Any:
        queue.enqueue(5)
        queue.enqueue(6)
        first = queue.dequeue()
        return first, queue.size(), queue.dequeue(), queue.is_closed()

    return tf.function(program)()


def between_threads() -> Any:
    queue = tf.queue.FIFOQueue(2, [tf.int32], shapes=[()])
    results: list[Any] = []
    putting = threading.Thread(
        target=lambda: results.append(told(lambda: queue.enqueue_many([[1, 2, 3, 4]])))
    )
    putting.start()
    taken = queue.dequeue_many(4)
    putting.join()
    blocked = threading.Thread(
        target=lambda: results.append(told(lambda: queue.enqueue_many([[1, 2, 3, 4]])))
    )
    blocked.start()
    while int(queue.size()) < 2:
        pass
    queue.close(cancel_pending_enqueues=True)
    blocked.join()
    return [taken, results, told(lambda: queue.dequeue_many(4)), queue.dequeue_up_to(4)]


def sections() -> Any:
    section, count = tf.CriticalSection(), tf.Variable(0)
    other = tf.CriticalSection()

    def add() -> Any:
        return section.execute(lambda: count.assign_add(2))

    def nested() -> Any:
        return section.execute(add)

    def both() -> Any:
        section.execute(lambda: count.assign_add(2))
        return other.execute(lambda: count.assign_add(2))

    return [
        *(add(), tf.function(add)(), section.execute(lambda: (count + 1, count + 2))),
        *(told(lambda: section.execute(3)), told(tf.function(nested)), told(tf.function(both))),
    ]


def coordinator() -> Any:
    stopping = tf.train.Coordinator()
    with stopping.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "the end")
    found = [stopping.should_stop(), told(stopping.join), stopping.joined]
    stopping.clear_stop()
    with stopping.stop_on_exception():
        raise ValueError("a reason")
    return [*found, told(stopping.join), stopping.should_stop(), stopping.wait_for_stop(0)]


PROGRAMS = {
    "fifo": fifo,
    "components": components,
    "padding": padding,
    "priority": priority,
    "shuffled": shuffled,
    "in a function": in_a_function,
    "between threads": between_threads,
    "sections": sections,
    "coordinator": coordinator,
}


if __name__ == "__main__":
    report(PROGRAMS, plain)
