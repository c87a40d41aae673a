"""Reports as files: JSON for programs, Markdown for people; of exports and of refusals."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinnace.deploy.onnx.options import Options
from pinnace.deploy.onnx.refusals import ExportRefusedError
from pinnace.deploy.onnx.report import ExportReport
from pinnace.framework.errors import OpError
from pinnace.storage.atomic import write_file


def write_report(path: str | os.PathLike[str], report: ExportReport) -> None:
    """The report of an export, in the form that the ending says."""
    _write(path, {"status": "exported", **report.as_dict()})


def write_refusal(path: str | os.PathLike[str], error: OpError, options: Options) -> None:
    """Why there is no file.

    Args:
        path: of the report.
        error: what the export raised.
        options: what it was asked for.
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


def _write(path: str | os.PathLike[str], told: Mapping[str, Any]) -> None:
    if Path(path).suffix == ".json":
        text = json.dumps(told, indent=1, allow_nan=False)
    else:
        text = "\n".join(markdown(told))
    write_file(path, text.encode() + b"\n")


def markdown(told: Mapping[str, Any]) -> list[str]:
    """A report's lines, for people."""
    if told["status"] != "exported":
        return [*_refusal(told)]
    return [
        *_summary(told),
        *_table("Inputs and outputs", ("name", "spec"), _border(told)),
        *_table(
            "Differences from pinnace",
            ("output", "largest", "relative to its largest value"),
            [(k, f"{a:.2e}", f"{b:.2e}") for k, (a, b) in told["differences"].items()],
        ),
        *_variant(told["variant"]),
        *_table(
            "Runtimes",
            ("runtime", "answer", "why", "what would have to change"),
            [
                (v["runtime"], v["answer"], "; ".join(v["reasons"]), "; ".join(v["changes"]))
                for v in told["runtimes"]
            ],
        ),
        *_table(
            "What the passes changed",
            ("operator", "before", "after"),
            _changes(told["improved"]),
        ),
        *_table("Operators of the file", ("operator", "count"), told["op_counts"].items()),
        *_table("Ops of the program", ("op", "converted"), told["source_counts"].items()),
        *_table("Computed in another type", ("cast", "count"), told["casts"].items()),
        *_table("Steps of the tokenizer", ("step", "count"), _tokenizer_steps(told)),
        *_table("Left out", ("op", "count"), told["dropped"].items()),
        *_table(
            "Nodes",
            ("node", "operator", "made for", "called at"),
            [(n["node"], n["op"], n["made_for"], n["called_at"] or "") for n in told["nodes"]],
        ),
    ]


def _summary(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {told['path'] or 'a model in memory'}"
    yield ""
    yield (
        f"Signature `{told['signature']}`, opset {told['opset']}, IR version "
        f"{told['ir_version']}: {told['node_count']} nodes, {told['transposes']} of them "
        f"transpositions; {told['file_bytes']:,} bytes, {told['weight_bytes']:,} of them weights."
    )
    if told["data_path"]:
        yield f"The weights are in `{told['data_path']}`."
    if told["tokenizer"]:
        texts, numbers = (", ".join(told["tokenizer"][side]) for side in ("inputs", "outputs"))
        where = told["tokenizer_path"] or "the report's tokenizer"
        yield f"The strings are cut off: `{where}` says how {numbers} are made of {texts}."
    yield ""
    if told["batches"]:
        gave = (
            f"ONNX Runtime gave pinnace's outputs on {told['batches']} "
            f"sets of inputs, with differences of {told['largest_relative']:.1e} at most, relative "
            "to the largest value of an output."
        )
        if told["variant"] is None:
            yield f"onnx.checker accepts it; {gave}"
        else:
            kind = told["variant"]["kind"]
            largest = max(one["relative"] for one in told["variant"]["outputs"].values())
            yield (
                f"onnx.checker accepts it. As {kind} it differs from float32 by {largest:.2%} of "
                "the largest value of an output at most; the table below has more. "
                f"Of the float32 form that it was made of: {gave}"
            )
    else:
        yield "onnx.checker accepts it. **It was not run**: verification was switched off."
    yield ""


def _refusal(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Not exported: {told['path'] or 'a model in memory'}"
    yield ""
    yield f"Signature `{told['signature']}`, opset {told['opset']}. Nothing was written."
    yield ""
    yield from ["```", *str(told["message"]).splitlines(), "```", ""]
    rows = [
        (one["op"], one["reason"], node["node"], node["called_at"] or "")
        for one in told["unconvertible"]
        for node in one["nodes"]
    ]
    yield from _table("Ops without counterpart", ("op", "why", "node", "called at"), rows)


def _border(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((f"{name} (input)", spec) for name, spec in told["inputs"].items())
    before = {after: name for name, after in told["output_names"].items()}
    for name, spec in told["outputs"].items():
        yield f"{name} (output)" + (f", was {before[name]}" if name in before else ""), spec


def _tokenizer_steps(told: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    return () if told["tokenizer"] is None else told["tokenizer"]["steps"].items()


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
