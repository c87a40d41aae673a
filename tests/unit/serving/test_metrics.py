"""What is counted for many requests at once is what would be counted for each."""

from hypothesis import given
from hypothesis import strategies as st

from pinnace.serving.metrics import BUCKETS_US, Histogram

VALUES = st.one_of(st.floats(0, 1e6), st.sampled_from(BUCKETS_US), st.floats(1e9, 1e12))


@given(st.lists(VALUES, min_size=1, max_size=80))
def test_values_together_count_as_each_by_itself(values: list[float]) -> None:
    one, all_at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    for value in values:
        one.observe(value)
    all_at_once.observe_all(list(values))
    assert list(all_at_once.cells)[:-1] == list(one.cells)[:-1]
    assert abs(all_at_once.cells[-1] - one.cells[-1]) <= 1e-9 * max(values) * len(values)


@given(VALUES, st.integers(1, 1000))
def test_a_value_may_count_several_times(value: float, times: int) -> None:
    one, at_once = Histogram(BUCKETS_US), Histogram(BUCKETS_US)
    for _ in range(times):
        one.observe(value)
    at_once.observe_same(value, times)
    assert list(at_once.cells)[:-1] == list(one.cells)[:-1]
