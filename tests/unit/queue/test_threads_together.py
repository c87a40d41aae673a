"""CriticalSection and Coordinator: mutual exclusion of threads, and how they stop."""

import gc
import threading

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import context
from pinnace.ops.running import Stop
from support.waiting import until


def together(calls):
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_one_at_a_time_runs(wrap):
    section, count = tf.CriticalSection(), tf.Variable(0)

    def step():
        # A thread between the read and the write would be detected.
        return section.execute(lambda: count.assign(count.read_value() + 1))

    traced = wrap(step)
    traced()
    together([lambda: [traced() for _ in range(50)]] * 4)
    assert count.numpy() == 201


def test_reads_inside_are_not_those_before():
    section, count = tf.CriticalSection(), tf.Variable(1)

    @tf.function
    def program():
        before = count.read_value()
        inside = section.execute(lambda: count.read_value())
        return before, inside

    reads = [
        op for op in program.get_concrete_function().graph.get_operations()
        if op.type == "ReadVariableOp"
    ]  # fmt: skip
    assert len(reads) == 2
    assert [bool(op.control_inputs) for op in reads] == [False, True]
    assert [int(x) for x in program()] == [1, 1]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_a_section_inside_itself_is_refused(wrap):
    section = tf.CriticalSection()
    inner = lambda: section.execute(lambda: tf.constant(1))  # noqa: E731 (two in one line)
    with pytest.raises(ValueError, match="in which we are already running"):
        wrap(lambda: section.execute(inner))()
    assert section.execute(lambda: 3) == 3  # it is free again


def test_a_run_that_fails_lets_the_next_one_in():
    section, count = tf.CriticalSection(), tf.Variable(0)

    @tf.function
    def program(x):
        def body():
            tf.debugging.assert_positive(x)
            return count.assign_add(1)

        return section.execute(body)

    with pytest.raises(tf.errors.InvalidArgumentError):
        program(tf.constant(-1))
    together([lambda: program(tf.constant(1))])
    assert count.numpy() == 1


def test_a_run_that_is_ended_lets_the_next_one_in():
    section = tf.CriticalSection()

    @tf.function
    def program(n):
        return section.execute(lambda: tf.while_loop(lambda i: i != n, lambda i: [i * 1], [0])[0])

    stop, raised, ended = Stop(), [], threading.Event()

    def run():
        context.state.stop = stop
        try:
            program(tf.constant(1))
        except tf.errors.DeadlineExceededError as error:
            raised.append(str(error))
        ended.set()

    def next_one():
        ended.wait(60)
        program(tf.constant(0))

    program(tf.constant(0))
    ending = threading.Timer(0.2, stop.end, [tf.errors.DeadlineExceededError("too long")])
    gc.collect()
    gc.disable()  # no thread waits for it
    try:
        ending.start()
        together([run, next_one])
    finally:
        gc.enable()
    assert len(raised) == 1
    assert "too long" in raised[0]


def test_sections_of_one_function_do_not_share_variables():
    first, second, count = tf.CriticalSection(), tf.CriticalSection(), tf.Variable(0)

    def program(exclusive):
        first.execute(lambda: count.assign_add(1), exclusive)
        return second.execute(lambda: count.assign_add(1), exclusive)

    with pytest.raises(ValueError, match="exclusive resource access"):
        tf.function(program)(True)
    assert tf.function(program)(False) == 2


def test_threads_stop_together_and_join_raises():
    coordinator = tf.train.Coordinator()

    def work():
        with coordinator.stop_on_exception():
            while not coordinator.should_stop():
                coordinator.wait_for_stop(0.01)

    def fail():
        with coordinator.stop_on_exception():
            raise KeyError("the reason")

    threads = [threading.Thread(target=each) for each in (work, work, fail)]
    for thread in threads:
        thread.start()
    with pytest.raises(KeyError, match="the reason"):
        coordinator.join(threads)
    assert coordinator.joined
    assert not any(thread.is_alive() for thread in threads)
    coordinator.clear_stop()
    assert not coordinator.should_stop()


def test_the_end_of_a_queue_is_a_clean_stop():
    coordinator, queue = tf.train.Coordinator(), tf.queue.FIFOQueue(9, tf.int32, [()])
    seen = []

    def consume():
        with coordinator.stop_on_exception():
            while True:
                seen.append(int(queue.dequeue()))

    thread = threading.Thread(target=consume)
    coordinator.register_thread(thread)
    thread.start()
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    coordinator.join()
    np.testing.assert_array_equal(seen, [1, 2, 3])


def test_threads_that_do_not_stop_are_named():
    coordinator, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn", daemon=True)
    thread.start()
    coordinator.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coordinator.join([thread], stop_grace_period_secs=0.01)
    release.set()
    until(lambda: not thread.is_alive())
