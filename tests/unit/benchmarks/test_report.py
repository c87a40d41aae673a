"""The table of the benchmarks."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import pinnace as tf
import report
from accounting import Account, account, leaves_of
from harness import Case, Comparison, Turn

ENVIRONMENT = {
    "date": "today",
    "load": 0.1,
    "processor": "one",
    "cores": 2,
    "threads": 2,
    "versions": {"pinnace": "1"},
}


def comparison(ratio: float, peer: str = "tensorflow", **aims: float) -> Comparison:
    case = Case(title="work", aims=aims)
    return Comparison("work", case, peer, [Turn([ratio], 1_000_000)], [Turn([1.0], 1_000_000)])


def written(tmp_path, *rows: Comparison, failures=()) -> str:
    report.write_markdown(tmp_path / "table.md", list(rows), ENVIRONMENT, failures)
    return (tmp_path / "table.md").read_text()


def test_an_aim_that_is_missed_stays_with_its_mark(tmp_path) -> None:
    text = written(tmp_path, comparison(0.5, tensorflow=0.2), comparison(0.1, tensorflow=0.2))
    assert "| 0.5× | 0.5–0.5 | ≤ 0.2× | 1 MB, 1× | ✗ |" in text
    assert "| 0.1× | 0.1–0.1 | ≤ 0.2× | 1 MB, 1× | ✓ |" in text


def test_rows_that_are_measured_again_take_the_place_of_theirs(tmp_path) -> None:
    other = comparison(0.4, tensorflow=0.2)
    other = replace(other, name="other", case=replace(other.case, title="other work"))
    written(tmp_path, comparison(0.5, tensorflow=0.2), other, comparison(3.0, peer="jax"))
    later = {**ENVIRONMENT, "date": "tomorrow", "commit": "abc"}
    report.put_rows(tmp_path / "table.md", [comparison(0.1, tensorflow=0.2)], later)
    text = (tmp_path / "table.md").read_text()
    assert "| work | tensorflow | 100 ms | 1 s | 0.1× | 0.1–0.1 | ≤ 0.2× | 1 MB, 1× | ✓ |" in text
    assert "0.5×" not in text
    assert "| other work | tensorflow | 400 ms | 1 s | 0.4×" in text
    assert "| work | jax | 3 s | 1 s | 3×" in text
    assert "Measured again on tomorrow, commit abc: work.\n\n| work | peer |" in text
    with pytest.raises(SystemExit, match=r"has no rows .*'xla'"):
        report.put_rows(tmp_path / "table.md", [comparison(0.1, peer="xla")], later)


def test_what_bounds_a_row_is_measured_again_with_it(tmp_path) -> None:
    slow = replace(comparison(0.5, tensorflow=0.2), account=Account(2e9, 1e6, 0.25, 1e10))
    other = replace(slow, name="other", case=replace(slow.case, title="other work"))
    written(tmp_path, slow, other)
    later = {**ENVIRONMENT, "date": "tomorrow", "commit": "abc"}
    quick = comparison(0.1, tensorflow=0.2)
    report.put_rows(tmp_path / "table.md", [quick], later)
    assert "| work | 500 ms | 2 |" not in (tmp_path / "table.md").read_text()
    again = replace(slow, ours=[Turn([0.4], 1_000_000)])
    report.put_rows(tmp_path / "table.md", [again], later)
    _, _, bounds = (tmp_path / "table.md").read_text().partition("What bounds")
    assert "| other work | 500 ms | 2 |" in bounds
    assert "| work | 400 ms | 2 |" in bounds


def test_where_no_aim_was_set_what_it_is_held_to_is_in_brackets(tmp_path) -> None:
    assert "| (≤ 1×) | 1 MB, 1× | ✗ |" in written(tmp_path, comparison(1.1))
    assert "| – | 1 MB, 1× |  |" in written(tmp_path, comparison(1.1, "half_depth"))


def test_what_failed_is_told_beneath(tmp_path) -> None:
    text = written(tmp_path, comparison(0.5), failures=["infer, pinnace: AssertionError\n  off"])
    assert "- infer, pinnace: AssertionError off" in text
    assert "failed" not in written(tmp_path, comparison(0.5))


def test_a_long_failure_keeps_who_and_why() -> None:
    found = report.shortened(
        "infer, pinnace: " + "of no interest\n" * 100 + "AssertionError: 7 is off"
    )
    assert found.startswith("infer, pinnace: ")
    assert found.endswith("AssertionError: 7 is off")
    assert len(found) < 400


def test_rows_that_miss_tell_what_bounds_them(tmp_path) -> None:
    spent = Account(flops=4_000_000_000, bytes=2_000_000, outside_s=0.05, peak_flops=32e9)
    missed = replace(comparison(0.5, tensorflow=0.2), account=spent)
    loop = replace(spent, flops=None, bytes=None)
    assert "| work | 500 ms | – | – | – | – | – | 10% |" in written(
        tmp_path, replace(missed, account=loop)
    )
    met = replace(comparison(0.1, tensorflow=0.2), account=spent)
    text = written(tmp_path, missed)
    assert "| work | 500 ms | 4 | 8 | 25% | 2 | 0.004 | 10% |" in text
    assert "bounds" not in written(tmp_path, met)
    assert "bounds" not in written(tmp_path, comparison(0.5, tensorflow=0.2))


def test_what_a_whole_counts_is_counted_with_its_parts() -> None:
    rows = [SimpleNamespace(depth=depth) for depth in (0, 1, 2, 2, 1, 0, 1)]
    assert leaves_of(rows) == [rows[2], rows[3], rows[4], rows[6]]


def test_a_call_is_counted() -> None:
    a = tf.ones((64, 32))
    found = account(lambda: tf.matmul(a, a, transpose_b=True))
    assert found is not None
    assert found.flops == 2 * 64 * 32 * 64
    assert found.bytes == 4 * (64 * 32 + 64 * 32 + 64 * 64)
    assert found.peak_flops > 0
    assert account(lambda: None) is None
