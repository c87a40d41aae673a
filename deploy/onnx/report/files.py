"""Reports of exports and refusals as files: JSON for programs, Markdown for people."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinnace.deploy.onnx.flow.options import Options
from pinnace.deploy.onnx.report.export_report import ExportReport
from pinnace.deploy.refusals import ExportRefusedError
from pinnace.framework.errors import OpError
from pinnace.storage.atomic import write_file


def write_report(path: str | os.PathLike[str], report: ExportReport) -> None:
    """Write the report of an export, in the format of the suffix."""
    _write(path, {"status": "exported", **report.as_dict()})


def write_refusal(path: str | os.PathLike[str], error: OpError, options: Options) -> None:
    """Write the report of a refusal.

    Args:
        path: the report's path.
        error: the error of the export.
        options: the options of the export.
    """
    refusals = error.refusals if isinstance(error, ExportRefusedError) else ()
    _write(
        path,
        {
            "status": "refused" if refusals else "failed",
            "path": None if options.path is None else os.fspath(options.path),
            "signature": options.signature,
            "opset": options.opset,
            "ir_version": options.ir_version,
            "error": type(error).__name__,
            "message": error.message,
            "unconvertible": [one.as_dict() for one in refusals],
        },
    )


def _write(path: str | os.PathLike[str], report: Mapping[str, Any]) -> None:
    if Path(path).suffix == ".json":
        text = json.dumps(report, indent=1, allow_nan=False)
    else:
        text = "\n".join(markdown(report))
    write_file(path, text.encode() + b"\n")


def markdown(report: Mapping[str, Any]) -> list[str]:
    """The lines of a report in Markdown."""
    if report["status"] != "exported":
        return [*_refusal(report)]
    return [
        *_summary(report),
        *_table("Inputs and outputs", ("name", "spec"), _border(report)),
        *_table(
            "Differences from pinnace",
            ("output", "largest", "relative to its largest value"),
            [(k, f"{a:.2e}", f"{b:.2e}") for k, (a, b) in report["differences"].items()],
        ),
        *_variant(report["variant"]),
        *_table(
            "Runtimes",
            ("runtime", "answer", "why", "what would have to change"),
            [
                (v["runtime"], v["answer"], "; ".join(v["reasons"]), "; ".join(v["changes"]))
                for v in report["runtimes"]
            ],
        ),
        *_table(
            "What the passes changed", ("operator", "before", "after"), _changes(report["improved"])
        ),
        *_table("Operators of the file", ("operator", "count"), report["op_counts"].items()),
        *_table("Ops of the program", ("op", "converted"), report["source_counts"].items()),
        *_table("Computed in another type", ("cast", "count"), report["casts"].items()),
        *_table("Steps of the tokenizer", ("step", "count"), _tokenizer_steps(report)),
        *_table("Left out", ("op", "count"), report["dropped"].items()),
        *_table(
            "Nodes",
            ("node", "operator", "made for", "called at"),
            [(n["node"], n["op"], n["made_for"], n["called_at"] or "") for n in report["nodes"]],
        ),
    ]


def _summary(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {report['path'] or 'a model in memory'}"
    yield ""
    yield (
        f"Signature `{report['signature']}`, opset {report['opset']}, IR version "
        f"{report['ir_version']}: {report['node_count']} nodes, {report['transposes']} of them "
        f"transpositions; {report['file_bytes']:,} bytes, {report['weight_bytes']:,} of them "
        "weights."
    )
    if report["data_path"]:
        yield f"The weights are in `{report['data_path']}`."
    if report["channels_first"]:
        names = ", ".join(report["channels_first"])
        yield f"Channels come first, at once after the batch, in: {names}."
    if report["tokenizer"]:
        texts, numbers = (", ".join(report["tokenizer"][side]) for side in ("inputs", "outputs"))
        where = report["tokenizer_path"] or "the report's tokenizer"
        yield f"The strings are cut off: `{where}` says how {numbers} are made of {texts}."
    yield ""
    if report["batches"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report["compared"].items())
        gave = (
            f"ONNX Runtime gave pinnace's outputs on {report['batches']} sets of inputs "
            f"({kinds}), with "
            f"differences of {report['largest_relative']:.1e} at most, relative to "
            "the largest value of an output."
        )
        if report["variant"] is None:
            yield f"onnx.checker accepts it; {gave}"
        else:
            kind = report["variant"]["kind"]
            largest = max(one["relative"] for one in report["variant"]["outputs"].values())
            yield (
                f"onnx.checker accepts it. As {kind} it differs from float32 by {largest:.2%} of "
                "the largest value of an output at most; the table below has more. "
                f"Of the float32 form that it was made of: {gave}"
            )
    else:
        yield "onnx.checker accepts it. **It was not run**: verification was switched off."
    for kind, said in report["empty"].items():
        yield f"Not as the model on inputs with {kind}: {_cell(said)}."
    yield ""


def _refusal(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Not exported: {report['path'] or 'a model in memory'}"
    yield ""
    yield f"Signature `{report['signature']}`, opset {report['opset']}. Nothing was written."
    yield ""
    yield from ["```", *str(report["message"]).splitlines(), "```", ""]
    rows = [
        (one["op"], one["reason"], node["node"], node["called_at"] or "")
        for one in report["unconvertible"]
        for node in one["nodes"]
    ]
    yield from _table("Ops without counterpart", ("op", "why", "node", "called at"), rows)


def _border(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((f"{name} (input)", spec) for name, spec in report["inputs"].items())
    before = {after: name for name, after in report["output_names"].items()}
    for name, spec in report["outputs"].items():
        yield f"{name} (output)" + (f", was {before[name]}" if name in before else ""), spec


def _tokenizer_steps(report: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    return () if report["tokenizer"] is None else report["tokenizer"]["steps"].items()


def _changes(improved: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    before, after = improved["before"], improved["after"]
    for kind in sorted({*before, *after}):
        yield kind, before.get(kind, 0), after.get(kind, 0)


def _variant(variant: Mapping[str, Any] | None) -> Iterator[str]:
    if variant is None:
        return
    rows = [
        (
            name,
            f"{one['largest']:.2e}",
            f"{one['relative']:.2%}",
            f"{one['mean']:.2e}",
            "" if one["sqnr_db"] is None else f"{one['sqnr_db']:.1f} dB",
            "" if one["top1"] is None else f"{one['top1']:.1%} of {one['rows']} rows",
        )
        for name, one in variant["outputs"].items()
    ]
    titles = ("output", "largest", "relative", "mean", "SQNR", "top-1 the same")
    yield from _table(f"{variant['kind']} beside float32 ({variant['compared']})", titles, rows)
    yield from (f"- {note}" for note in variant["notes"])


def _table(title: str, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        return
    yield f"## {title}"
    yield ""
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield f"| {' | '.join(_cell(one) for one in row)} |"
    yield ""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
