import time
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.serving.observing.history import MOST_AGE_S, MOST_POINTS, History, quantile
from pinnace.serving.observing.metrics import BUCKETS_US, Metrics
from unit.serving.memory_server import Server


def asked(metrics: Metrics, latencies: list[float], model: str = "m") -> None:
    meter = metrics.meter(model, "predict", "REST")
    for latency in latencies:
        meter.statuses[0] += 1
        meter.latency.observe(latency)
        meter.batch_rows.observe(4)


def test_a_step_has_its_own_requests_only() -> None:
    metrics = Metrics(lambda _: True)
    history = History(metrics)
    asked(metrics, [50.0] * 100)
    history.sample(0)
    asked(metrics, [1000.0] * 6)
    history.sample(2)
    (point,) = history.of("m", 2)
    assert (point.time, point.rate, point.rows) == (2, 3, 4)
    at = bisect_left(BUCKETS_US, 1000)
    assert point.median is not None
    assert BUCKETS_US[at - 1] < point.median < BUCKETS_US[at]


def test_without_requests_there_are_points_only_while_somebody_looks() -> None:
    metrics = Metrics(lambda _: True)
    history = History(metrics)
    history.sample(0)
    asked(metrics, [10.0])
    for now in range(2, 100, 2):
        if now == 50:
            history.watch(now)
        history.sample(now)
    points = history.of("m", 100)
    assert [point.time for point in points] == [2, 50, 52, 54, 56, 58, 60]
    assert {(p.rate, p.median, p.rows) for p in points[1:]} == {(0, None, None)}


def test_no_more_than_so_many_points_are_kept_and_none_for_ever() -> None:
    metrics = Metrics(lambda _: True)
    history = History(metrics)
    for now in range(MOST_POINTS + 50):
        asked(metrics, [10.0])
        history.sample(now)
    points = history.of("m", now)
    assert [point.time for point in points] == list(range(50, MOST_POINTS + 50))
    assert len(history.of("m", now + MOST_AGE_S - 10)) == 11
    assert history.of("m", now + MOST_AGE_S + 1) == history.of("other", now) == []


@given(
    st.lists(st.floats(1, BUCKETS_US[-1]), min_size=1, max_size=50),
    st.sampled_from([0.5, 0.9, 0.99, 1.0]),
)
def test_a_quantile_lies_in_the_bucket_of_the_exact_one(values: list[float], share: float) -> None:
    exact = bisect_left(BUCKETS_US, float(np.quantile(values, share, method="inverted_cdf")))
    found = quantile([*right_closed(values), 0], share)
    assert found is not None
    low = BUCKETS_US[exact - 1] if exact else 0
    assert low <= found <= BUCKETS_US[exact] * (1 + 1e-12)


def right_closed(values: list[float]) -> list[float]:
    places = [bisect_left(BUCKETS_US, value) for value in values]
    return [float(places.count(i)) for i in range(len(BUCKETS_US))]


def test_nothing_has_no_quantile() -> None:
    assert quantile([0.0] * (len(BUCKETS_US) + 1), 0.5) is None


def test_the_page_gets_what_was_before_it(server: Server) -> None:
    history = server.app.state.history
    reply = server.ask("GET", "/page/history?model=m")
    assert reply.json() == {"points": []}
    assert reply.headers["cache-control"] == "no-store"
    history.sample(time.monotonic() - 2)
    assert server.predict({"instances": [1.0]}).status_code == 200
    history.sample(time.monotonic())
    ((age, rate, median, most, _),) = server.ask("GET", "/page/history?model=m").json()["points"]
    assert 0 <= age < 60
    assert rate == pytest.approx(0.5, rel=0.5)
    assert 0 < median <= most
