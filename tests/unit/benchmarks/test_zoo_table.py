"""The zoo's tables of a row."""

import pytest

from verdicts import MET, MISSED
from zoo import run, table, workloads
from zoo.paired import Empty, Row, SideError, Times
from zoo.workloads import INFERENCE, TRAINING, Workload

OURS, TENSORFLOW, ONNXRUNTIME = "pinnace", "tensorflow", "onnxruntime"


def row(kind: str = INFERENCE, **settled: float) -> Row:
    """A row with these settled times of its sides; the others take a second."""
    times = {side: Times(1.0, 1.0, [s, s, s], [s, s, s]) for side, s in settled.items()}
    return Row(Workload("unet", kind, 1), times)


def test_a_row_is_behind_if_one_peer_is_ahead() -> None:
    assert table.verdict(row(pinnace=1.0, tensorflow=4.0, onnxruntime=0.9)) == MISSED
    assert table.verdict(row(pinnace=1.0, tensorflow=4.0, onnxruntime=1.1)) == MET


def test_a_row_shows_ours_and_both_peers() -> None:
    cells = table.cells(row(pinnace=1.0, tensorflow=4.0, onnxruntime=0.5))
    assert cells == [
        *("U-Net, 64×64", "1", "1 s, 1×", "1 s, 1×", "1 s, 2× ✗", "1 s, 2× ✗"),
        *("–", "4 s, 0.25×", "500 ms, 2×", MISSED),
    ]
    assert len(cells) == len(table.HEADINGS)


def test_an_empty_machine_is_told_in_settled_times() -> None:
    found = row(pinnace=0.5, tensorflow=4.0)
    found.empty = Empty(second_s=1.0, at_one_s=0.75)
    assert table.cells(found)[6] == "2×, 1.5×"
    again = Row.of_record(found.record(), found.workload)
    assert again.empty == found.empty


def test_each_column_is_held_against_its_own_best_peer() -> None:
    found = row(pinnace=1.0, tensorflow=2.0, onnxruntime=3.0)
    found.times[TENSORFLOW].at_one_s = 0.5
    assert table.cells(found)[2:5] == ["1 s, 1×", "1 s, 2× ✗", "1 s, 0.5×"]


def test_a_row_alone_has_no_mark() -> None:
    assert table.verdict(row(pinnace=1.0)) == ""


@pytest.mark.parametrize(("wrong", "text"), [(True, "wrong answer"), (False, "fails")])
def test_a_failure_of_ours_is_red_and_stays(wrong, text) -> None:
    found = row(pinnace=1.0, tensorflow=2.0)
    found.fail(OURS, SideError("no", wrong=wrong))
    cells = table.cells(found)
    assert (cells[2], cells[-1], len(cells)) == (text, MISSED, len(table.HEADINGS))


def test_a_failure_of_a_peer_is_told() -> None:
    found = row(pinnace=1.0, tensorflow=2.0)
    found.fail(ONNXRUNTIME, SideError("no", wrong=False))
    assert table.cells(found)[-2:] == ["fails", MET]


def aim(peer: str, *, median: bool, most: float) -> table.Aim:
    return table.Aim("", peer, "settled_s", median=median, most=most)


def test_an_aim_for_each_row_counts_those_above_and_those_that_fail() -> None:
    broken = row(pinnace=1.0, tensorflow=1.0)
    broken.fail(OURS, SideError("no", wrong=True))
    rows = [row(pinnace=1.0, tensorflow=2.0), row(pinnace=3.0, tensorflow=2.0), broken]
    assert aim(TENSORFLOW, median=False, most=1.0).verdict(rows) == "2 of 3, the worst 1.5 ✗"
    assert aim(TENSORFLOW, median=False, most=1.0).verdict(rows[:1]) == "0 of 1 ✓"


def test_an_aim_for_the_median_is_met_up_to_it() -> None:
    rows = [row(pinnace=s, tensorflow=1.0) for s in (0.1, 0.5, 9.0)]
    assert aim(TENSORFLOW, median=True, most=0.5).verdict(rows) == "0.50 ✓"
    assert aim(TENSORFLOW, median=True, most=0.4).verdict(rows) == "0.50 ✗"


def test_an_aim_beside_onnx_runtime_leaves_training_out() -> None:
    rows = [row(pinnace=1.0, onnxruntime=2.0), row(TRAINING, pinnace=9.0, tensorflow=1.0)]
    assert aim(ONNXRUNTIME, median=True, most=1.0).verdict(rows) == "0.50 ✓"
    assert aim(ONNXRUNTIME, median=True, most=1.0).verdict(rows[1:]) == "nothing to compare"


def test_an_aim_for_training_leaves_inference_out() -> None:
    rows = [row(pinnace=9.0, tensorflow=1.0), row(TRAINING, pinnace=1.0, tensorflow=2.0)]
    found = table.Aim("", TENSORFLOW, "settled_s", median=False, most=1.0, kind=TRAINING)
    assert found.verdict(rows) == "0 of 1 ✓"


def test_the_aim_for_second_calls() -> None:
    rows = [row(pinnace=2.0), row(pinnace=1.0), row(pinnace=1.0)]
    assert table.Early("", 1.1).verdict(rows) == "nothing to compare"
    for one, second in zip(rows, (2.0, 1.05, 3.0), strict=True):
        one.empty = Empty(second, 1.0)
    assert table.Early("", 1.1).verdict(rows) == "1 of 3, median 1.05, the worst 3 ✗"
    assert table.Early("", 1.1).verdict(rows[:2]) == "0 of 2, median 1.02 ✓"


def test_the_aims_are_those_that_were_set() -> None:
    aims = [a for a in table.AIMS if isinstance(a, table.Aim)]
    assert [(a.text, a.peer, a.column, a.median, a.most, a.kind) for a in aims] == [
        ("no row above 1.0 settled", TENSORFLOW, "settled_s", False, 1.0, ""),
        ("no row above 0.9 settled", TENSORFLOW, "settled_s", False, 0.9, ""),
        ("median ≤ 0.5", TENSORFLOW, "settled_s", True, 0.5, ""),
        ("no row above 1.5 at 1 s", TENSORFLOW, "at_one_s", False, 1.5, ""),
        ("no training above 1.0 at 1 s", TENSORFLOW, "at_one_s", False, 1.0, TRAINING),
        ("median ≤ 0.6 at 1 s (training)", TENSORFLOW, "at_one_s", True, 0.6, TRAINING),
        ("median ≤ 1.0 (inference)", ONNXRUNTIME, "settled_s", True, 1.0, ""),
        ("median ≤ 0.85 (inference)", ONNXRUNTIME, "settled_s", True, 0.85, ""),
        ("no row above 1.15 (inference)", ONNXRUNTIME, "settled_s", False, 1.15, ""),
    ]
    assert [a.most for a in table.AIMS if isinstance(a, table.Early)] == [1.1]


ENVIRONMENT = {
    "date": "today",
    "load": 0.1,
    "processor": "one",
    "cores": 2,
    "threads": 2,
    "versions": {OURS: "1"},
}


def test_the_page_has_every_row_and_what_failed(tmp_path) -> None:
    broken = Row(Workload("unet", INFERENCE, 32))
    broken.fail(OURS, SideError("it cannot", wrong=False))
    rows = [row(pinnace=1.0, tensorflow=2.0), broken]
    table.write_markdown(tmp_path / "ZOO.md", rows, ENVIRONMENT, 1.0, 0)
    text = (tmp_path / "ZOO.md").read_text()
    assert "| U-Net, 64×64 | 1 | 1 s, 1× |" in text
    assert "| U-Net, 64×64 | 32 | fails |" in text
    assert "- unet/b32, pinnace: it cannot" in text
    assert "| no row above 1.0 settled | tensorflow | 1 of 2 ✗ |" in text


def test_a_page_that_was_broken_off_says_how_much_is_missing(tmp_path) -> None:
    table.write_markdown(tmp_path / "ZOO.md", [row(pinnace=1.0)], ENVIRONMENT, 1.0, 7)
    assert "7 workloads more were not measured" in (tmp_path / "ZOO.md").read_text()


def test_the_aims_of_ordinary_rows_are_not_judged_by_special_ones(tmp_path) -> None:
    odd = row(pinnace=1.0, tensorflow=0.5)
    odd.workload = Workload("odd_cnn", INFERENCE, 3)
    table.write_markdown(tmp_path / "SPECIAL.md", [odd], ENVIRONMENT, 1.0, 0)
    text = (tmp_path / "SPECIAL.md").read_text()
    assert "| odd sizes: CNN, 61×47 | 3 | 1 s, 1× | 1 s, 1× | 1 s, 2× ✗ |" in text
    assert "aim for all rows" not in text


def test_a_row_is_what_its_record_says() -> None:
    found = row(pinnace=1.0, tensorflow=2.0)
    found.fail(ONNXRUNTIME, SideError("no", wrong=True))
    found.measured = "2026-11-28, commit 1234abcd"
    again = Row.of_record(found.record(), found.workload)
    assert again == found


def test_rows_measured_again_take_the_place_of_theirs_and_are_told(tmp_path) -> None:
    names = ["unet/b1", "unet/b32"]
    every = {work.name: work for work in workloads.ordinary()}
    first = [row(pinnace=4.0, tensorflow=2.0), row(pinnace=5.0, tensorflow=2.0)]
    for one, name in zip(first, names, strict=True):
        one.workload = every[name]
    where = {"date": "2026-11-27", "processor": "x", "cores": 2, "threads": 2, "load": 0.1}
    where |= {"system": "linux", "unset": [], "commit": "aaaa", "versions": {}}
    file = tmp_path / "ZOO.md"
    run.write(file, first, where, 3.0, 0)
    second = row(pinnace=1.0, tensorflow=2.0)
    second.workload = every[names[1]]
    run.again(file, [second], {**where, "date": "2026-11-28", "commit": "bbbb"})
    text = file.read_text()
    assert "Measured again on 2026-11-28, commit bbbb: unet/b32." in text
    assert "2026-11-27, x, 2 cores" in text
    assert "| 4 s, 2× ✗ |" in text
    assert "| 5 s" not in text
    assert run.names_in(file) == set(names)
