"""The gate measures once more before it fails, and its rows exist."""

import pytest

import gate
from zoo import workloads


@pytest.fixture
def measured(monkeypatch):
    """Repeated measurements give these values, and the requested names are recorded."""
    asked: list[list[str]] = []
    again: dict[str, float] = {}

    def measure(names):
        asked.append(list(names))
        return {name: again[name] for name in asked[-1] if name in again}

    monkeypatch.setattr(gate, "measure", measure)
    return asked, again


def test_nothing_is_measured_again_where_nothing_is_worse(measured) -> None:
    asked, _ = measured
    assert gate.judge({"a": 1.0}, {"a": 1.2}) == {"a": 1.2}
    assert asked == []


def test_only_what_is_worse_is_measured_again(measured) -> None:
    asked, again = measured
    again["b"] = 1.1
    assert gate.judge({"a": 1.0, "b": 1.0}, {"a": 0.9, "b": 2.0}) == {"a": 0.9, "b": 1.1}
    assert asked == [["b"]]


def test_the_better_of_two_measurements_stands(measured) -> None:
    _, again = measured
    again["a"] = 5.0
    assert gate.judge({"a": 1.0}, {"a": 2.0}) == {"a": 2.0}


def test_a_row_that_failed_may_work_the_second_time(measured) -> None:
    _, again = measured
    assert gate.judge({"a": 1.0}, {}) == {}
    again["a"] = 1.0
    assert gate.judge({"a": 1.0}, {}) == {"a": 1.0}


def run(monkeypatch, tmp_path, recorded, ratios) -> int:
    """The command line, measuring `ratios` each time."""
    record = tmp_path / "record.json"
    record.write_text(gate.json.dumps({"ratios": recorded}))
    monkeypatch.setattr(gate.sys, "argv", ["gate.py", "--against", str(record)])
    monkeypatch.setattr(gate, "interpreter_of", lambda _: "python")
    monkeypatch.setattr(gate.store, "prepare", lambda _: None)
    monkeypatch.setattr(gate.networks, "onnx_file", lambda _: None)
    monkeypatch.setattr(gate, "environment", dict)
    monkeypatch.setattr(gate.report, "print_environment", lambda _: None)
    monkeypatch.setattr(gate, "discover", dict)
    monkeypatch.setattr(gate, "CASES", {})
    monkeypatch.setattr(gate, "measure", lambda names: {n: ratios[n] for n in names if n in ratios})
    return gate.main()


def test_the_gate_passes_within_its_margin(monkeypatch, tmp_path) -> None:
    assert run(monkeypatch, tmp_path, {"unet/b32": 1.0}, {"unet/b32": 1.29}) == 0


def test_the_gate_fails_on_a_ratio_that_stays_worse(monkeypatch, tmp_path, capsys) -> None:
    assert run(monkeypatch, tmp_path, {"unet/b32": 1.0}, {"unet/b32": 1.31}) == 1
    assert "FAILED unet/b32: 1.31, recorded 1;" in capsys.readouterr().out


def test_the_gate_fails_on_a_row_that_does_not_run(monkeypatch, tmp_path, capsys) -> None:
    assert run(monkeypatch, tmp_path, {"unet/b32": 1.0}, {}) == 1
    assert "FAILED unet/b32: nothing" in capsys.readouterr().out


def test_rows_of_the_gate_are_workloads_of_the_zoo() -> None:
    assert set(gate.ROWS) <= {work.name for work in workloads.ordinary()}


def test_cases_of_the_gate_are_measured_beside_their_peers(cases) -> None:
    assert {name for name, peer in gate.CASES.items() if peer not in cases[name][1]} == set()
