"""Benchmarks: what they report, and who runs them."""

import sys
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.proto.benchmark_pb2 import BenchmarkEntries
from pinnace.testing import benchmarks


class Sums(tf.test.Benchmark):
    """Two methods, one of them a benchmark."""

    def benchmark_sum(self) -> None:
        self.report_benchmark(iters=2, extras={"size": 3})

    def helper(self) -> None:
        raise AssertionError


class Counting:
    """A stand-in for a session that counts calls."""

    def __init__(self) -> None:
        self.runs: list[object] = []

    def run(self, fetched: object, feed_dict: object = None) -> None:
        self.runs.append((fetched, feed_dict))


def test_without_a_reporter_figures_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(benchmarks.REPORTS, raising=False)
    monkeypatch.setattr(sys, "argv", ["program", "--benchmark_filter=Sums"])
    with pytest.raises(SystemExit):
        tf.test.main()
    assert 'name: "Sums.benchmark_sum"' in capsys.readouterr().out


def test_a_runner_is_measured_and_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(benchmarks.REPORTS, f"{tmp_path}/")
    runner = Counting()
    found = Sums().run_op_benchmark(runner, "op", {"x": 1}, burn_iters=1, min_iters=4, name="n")
    assert runner.runs == [("op", {"x": 1})] * 5
    assert found["iters"] == 4
    assert found["extras"]["wall_time_mean"] > 0
    (entry,) = BenchmarkEntries.FromString((tmp_path / "Sums.n").read_bytes()).entry
    assert (entry.name, entry.iters, entry.wall_time) == ("Sums.n", 4, found["wall_time"])
    with pytest.raises(tf.errors.UnimplementedError, match="not traced"):
        Sums().run_op_benchmark(runner, "op", store_trace=True)


def test_values_of_a_nest() -> None:
    found = Sums().evaluate({"a": tf.constant([1, 2])})
    assert found["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"extras": [1]}, "extras must be a dict"),
        ({"metrics": {"name": "m"}}, "metrics must be a list"),
        ({"metrics": [{"value": 1.0}]}, "'name' field"),
    ],
)
def test_reports_of_another_form_are_refused(arguments: dict[str, object], said: str) -> None:
    class Wrong(tf.test.Benchmark):
        def benchmark_wrong(self) -> None:
            self.report_benchmark(**arguments)

    with pytest.raises(TypeError, match=said):
        Wrong().benchmark_wrong()
    benchmarks.Benchmark._known.remove(Wrong)
