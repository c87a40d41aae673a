"""Counting many requests at once gives the counts of each separately."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from pinnace.serving.observing.metrics import BUCKETS_US, Histogram
from unit.serving.memory_server import Server

VALUES = st.one_of(st.floats(0, 1e6), st.sampled_from(BUCKETS_US), st.floats(1e9, 1e12))


@given(st.lists(VALUES, min_size=1, max_size=80))
def test_values_together_count_as_each_by_itself(values: list[float]) -> None:
    one, all_at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    for value in values:
        one.observe(value)
    all_at_once.observe_all(list(values), 1.0)
    assert list(all_at_once.cells)[:-1] == list(one.cells)[:-1]
    assert abs(all_at_once.cells[-1] - one.cells[-1]) <= 1e-9 * max(values) * len(values)


@given(st.lists(VALUES, min_size=1, max_size=80))
def test_values_may_have_a_unit_of_their_own(values: list[float]) -> None:
    one, all_at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    unit = 2.0**20  # a power of 2, so that both use exact bounds
    for value in values:
        one.observe(value)
    all_at_once.observe_all([value / unit for value in values], unit)
    assert list(all_at_once.cells)[:-1] == list(one.cells)[:-1]
    assert abs(all_at_once.cells[-1] - one.cells[-1]) <= 1e-9 * max(values) * len(values)


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=80), st.floats(0, 1e6))
def test_times_since_then_count_as_each_by_itself(begins: list[float], after: float) -> None:
    end = max(begins) + after
    one, all_at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    values = [(end - begin) * 1e6 for begin in begins]
    # A clock in seconds cannot distinguish values so close to a bound.
    near = [
        abs(value - bound) < 1e-9 * (end * 1e6 + bound) for value in values for bound in BUCKETS_US
    ]
    assume(not any(near))
    for value in values:
        one.observe(value)
    all_at_once.observe_since(list(begins), end)
    assert list(all_at_once.cells)[:-1] == list(one.cells)[:-1]
    assert abs(all_at_once.cells[-1] - one.cells[-1]) <= 1e-9 * end * 1e6 * len(values)


@given(VALUES, st.integers(1, 1000))
def test_a_value_may_count_several_times(value: float, times: int) -> None:
    one, at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    for _ in range(times):
        one.observe(value)
    at_once.observe_same(value, times)
    assert list(at_once.cells)[:-1] == list(one.cells)[:-1]


def test_counters_have_the_names_and_the_type_of_tensorflow_serving(server: Server) -> None:
    for _ in range(3):
        assert server.predict({"instances": [1.0]}).status_code == 200
    text = server.ask("GET", "/monitoring/prometheus/metrics").text
    assert not re.search("^# TYPE :tensorflow:.* untyped$", text, re.MULTILINE)
    for name, sample in (
        (":tensorflow:serving:request_count", '{model_name="m",status="OK"} 3.0'),
        (":tensorflow:serving:batching_session:wrapped_run_count", " 3.0"),
        (":tensorflow:core:graph_runs", " 3.0"),
        (":tensorflow:cc:saved_model:load_attempt_count", "{"),
        (":tensorflow:cc:saved_model:load_latency", "{"),
    ):
        assert f"# TYPE {name} counter\n{name}{sample}" in text
