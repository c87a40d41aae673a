"""The aims of `make lite`: rows that miss one are reported, and differences are faults."""

from typing import Any

from lite.figures import Row, aims, text


def row(name: str, **changes: Any) -> Row:
    ours = {"bytes": 100, "seconds": 0.01, "peak_mb": 50.0}
    theirs = {"bytes": 100, "seconds": 1.0, "peak_mb": 600.0, "our_gap": 1e-7, "gap": 0.0}
    theirs |= {"our_run_s": 1.0, "run_s": 1.0}
    return Row(name, ours, ours | {"seconds": 0.05}, theirs | changes)


def said(rows: list[Row], **answers: Any) -> dict[str, tuple[str, bool]]:
    return {one.what: (one.figure, one.is_reached) for one in aims(rows, answers)}


def test_every_aim_is_reached_by_equal_files() -> None:
    kinds = {"float32": 0.98}
    for whole in ("int8", "int16 and int8"):
        kinds |= {f"our {whole}": 0.975, f"TFLiteConverter's {whole}": 0.97}
    digits = {kind: {"bytes": 1, "right": right} for kind, right in kinds.items()}
    assert all(reached for _, reached in said([row("one")], digits=digits).values())


def test_the_worst_row_decides() -> None:
    found = said([row("small"), row("slow", our_run_s=1.2), row("large", bytes=90)])
    assert found["time in the interpreter"] == (
        "median 1.000, largest 1.200 (slow), 1 of 3 above",
        False,
    )
    assert not found["size"][1]
    assert found["files that differ or fail"] == ("0", True)


def test_what_differs_or_fails_is_a_fault() -> None:
    rows = [
        row("differs", our_gap=0.5),
        row("fails", our_error="no kernel"),
        row("is not answered", broken="TensorFlow ended with status 11"),
        Row("refuses itself", {"bytes": 1}, {"refusal": "it differs"}, {"refusal": "no"}),
        Row("is refused by both", {"refusal": "no"}, {"refusal": "no"}, {"refusal": "no"}),
    ]
    assert [bool(one.fault()) for one in rows] == [True, True, True, True, False]
    assert said(rows)["files that differ or fail"] == ("4", False)


def test_what_only_tflite_converter_writes_counts() -> None:
    refused = {"refusal": "1 op | of a kind", "seconds": 0.1, "peak_mb": 50.0}
    rows = [*(row(str(n)) for n in range(9)), Row("ours not", refused, refused, {"bytes": 1})]
    figure = said(rows)["written, of what TFLiteConverter writes and runs without flex"]
    assert figure == ("9 of 10", False)
    lines = text(rows, {}).splitlines()
    cells = [line for line in lines if line.startswith("| ours not")]
    assert cells[0].count("|") == 13
    assert "1 op / of a kind" in cells[0]
