"""The plots of docs/how_fast.md, from the benchmarks' results.

Without options it says which of them differ from the files; `--write` writes them.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from html import escape
from math import log10
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "plots"
WIDTH, LABELS, ROW, TOP, BAR = 900, 420, 22, 44, 14
SPACE = 90  # right of the longest bar, for its number
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #333 } .title { font-weight: 600; font-size: 15px }
.bar { fill: #5468c4 } .other { fill: #a9adb8 } .line { stroke: #888; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .bar { fill: #8c9eff } .other { fill: #70747f }
}
</style>"""
Bar = tuple[str, float, str, bool]  # label, value, what stands beside it, ours


def ratios(table: str) -> str:
    """The speed relative to TensorFlow, from the rows of RESULTS.md."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    found = [
        (row[0], 1 / float(row[4].rstrip("×")))
        for row in rows
        if len(row) > 4 and row[1] == "tensorflow" and re.fullmatch(r"[\d.]+×", row[4])
        if re.fullmatch(r"[\d.,]+ (s|ms|µs)", row[2])  # not memory
    ]
    bars = [
        (name, times, f"{times:.3g}×", True)
        for name, times in sorted(found, key=lambda pair: -pair[1])
    ]
    return _drawn(
        "Time of TensorFlow / time of pinnace (logarithmic; beyond 1 is faster)", bars, 0.5
    )


def servers(results: str) -> str:
    """Answers a second of each server, from SERVING.json."""
    points = [
        point
        for point in json.loads(results)["points"]
        if (point["model"], point["form"], point["rows"], point["connections"])
        == ("a", "json", 1, 64)
    ]
    points.sort(key=lambda point: -point["per_second"])
    bars = [
        (
            point["server"],
            point["per_second"],
            f"{point['per_second']:,.0f}",
            point["server"] == "pinnace",
        )
        for point in points
    ]
    return _drawn(
        "Predictions a second: model a, JSON, 1 row, 64 connections (logarithmic)", bars, 100
    )


def exporters(results: str) -> str:
    """Processor time of each export, from ONNX.json."""
    bars: list[Bar] = []
    for result in json.loads(results)["results"]:
        tool = result["tool"]
        if tool in {"pinnace", "tf2onnx"} and result["cpu_s"] and not result["failure"]:
            seconds = median(result["cpu_s"])
            label = f"{result['model']}, {tool}"
            bars.append((label, seconds, f"{seconds:.2f} s", tool == "pinnace"))
    return _drawn("Export to ONNX: seconds of processor time (logarithmic)", bars, 0.1)


PLOTS = {
    "tensorflow.svg": (ratios, "benchmarks/RESULTS.md"),
    "servers.svg": (servers, "benchmarks/SERVING.json"),
    "exporters.svg": (exporters, "benchmarks/ONNX.json"),
}


def plots() -> dict[str, str]:
    """File name -> SVG."""
    return {name: draw((ROOT / source).read_text()) for name, (draw, source) in PLOTS.items()}


def _drawn(title: str, bars: Sequence[Bar], least: float) -> str:
    """Bars on a logarithmic axis that begins at `least`, with a line at 1 if it is inside."""
    most = max(value for _, value, _, _ in bars)
    long = WIDTH - LABELS - SPACE

    def at(value: float) -> float:
        return LABELS + long * max(0.0, log10(value / least) / log10(most / least))

    height = TOP + ROW * len(bars) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        STYLE,
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
    ]
    if least < 1 < most:
        where = f"{at(1):.1f}"
        lines.append(
            f'<line class="line" x1="{where}" x2="{where}" y1="{TOP - 8}" y2="{height - 6}"/>'
        )
    for number, (label, value, beside, ours) in enumerate(bars):
        y = TOP + ROW * number
        kind = "bar" if ours else "other"
        wide = max(1.0, at(value) - LABELS)
        lines += [
            f'<text x="{LABELS - 8}" y="{y + 11}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{wide:.1f}" height="{BAR}"/>',
            f'<text x="{LABELS + wide + 6:.1f}" y="{y + 11}">{escape(beside)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    options = parser.parse_args()
    old = []
    for name, text in plots().items():
        file = FOLDER / name
        if options.write:
            FOLDER.mkdir(exist_ok=True)
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            old.append(name)
    if old:
        print(
            f"{', '.join(old)}: not what the benchmarks wrote. Try: python tools/plots.py --write"
        )
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
