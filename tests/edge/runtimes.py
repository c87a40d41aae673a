"""The models, the programs that run them in other runtimes, and the table of results."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "saved_models"
PROGRAMS = Path(__file__).parent / "programs"
SECONDS = 300
# Name -> folder, or a function that writes one, and options. Each is another kind of network or
# file.
MODELS: dict[str, tuple[Path | Callable[[Path], None], dict[str, Any]]] = {
    "digits": (ROOT / "models" / "digits" / "1", {}),
    "convolutions": (GOLDEN / "keras_cnn" / "model", {}),
    "lstm": (GOLDEN / "keras_lstm" / "model", {}),
    "transformer": (GOLDEN / "keras_transformer" / "model", {}),
    "gru": (GOLDEN / "keras_gru" / "model", {}),
    "recurrent": (made.recurrent, {}),
    "random": (made.random, {}),
    "strings": (made.strings, {"opset": 20}),
    "flow": (GOLDEN / "autograph_flow" / "model", {"signature": "loops"}),
    "digits_float16": (ROOT / "models" / "digits" / "1", {"float16": True}),
    "transformer_int8": (GOLDEN / "keras_transformer" / "model", {"int8": True}),
}
rows: dict[str, dict[str, str]] = {}


@dataclass(frozen=True)
class Edge:
    """What `make edge` installed, and the exported models.

    Attributes:
        modules: the `node_modules` folder.
        chromium: the browser.
        pages: a folder with a page for each model, and one of its `.ort`.
    """

    modules: Path
    chromium: str
    pages: Path

    def model(self, name: str, form: str) -> Path:
        """The file of a model, in the form "onnx" or "ort"."""
        return self.pages / f"{name}.{form}"


def as_modules(page: Path) -> None:
    """Make Node treat a page's .js programs as modules."""
    (page / "package.json").write_text('{"type": "module"}')


def run_node(program: str, *arguments: object) -> dict[str, Any]:
    """The JSON that a program prints."""
    done = subprocess.run(
        ["node", str(PROGRAMS / program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Texts in it may contain other line ends, which JSON keeps.
    found: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return found


def record(model: str, runtime: str, found: dict[str, Any]) -> None:
    """Put a result in the table."""
    cell = f"{found['relative']:.1e}" if found["ok"] else "DIFFERS"
    rows.setdefault(model, {})[runtime] = cell


def table() -> Iterator[str]:
    """The table: a row for each model, a column for each runtime."""
    runtimes = list(dict.fromkeys(runtime for row in rows.values() for runtime in row))
    wide = max(map(len, rows)) + 2
    yield " " * wide + "  ".join(f"{runtime:>12}" for runtime in runtimes)
    for model, row in rows.items():
        yield f"{model:{wide}}" + "  ".join(f"{row.get(runtime, '-'):>12}" for runtime in runtimes)
