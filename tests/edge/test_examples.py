"""examples/js_node and examples/js_browser do what their documentation says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from edge.runtimes import MODELS, ROOT, run_node
from pinnace.deploy.onnx import export

if TYPE_CHECKING:
    from pathlib import Path

    from edge.runtimes import Edge


def test_node_reads_digits(edge: Edge, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "js_node", tmp_path / "js_node")
    (folder / "node_modules").unlink(missing_ok=True)
    (folder / "node_modules").symlink_to(edge.modules)
    done = subprocess.run(
        ["node", "classify.mjs", edge.model("digits", "onnx"), "zero.json", "seven.json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\w+)\.json: (\d) \(score", done.stdout) == [("zero", "0"), ("seven", "7")]


def test_node_reads_texts(edge: Edge, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "js_node", tmp_path / "js_node")
    (folder / "node_modules").unlink(missing_ok=True)
    (folder / "node_modules").symlink_to(edge.modules)
    made = subprocess.run(
        [sys.executable, ROOT / "examples" / "text_model.py", "mood"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    texts = "A great, LOVELY town!", "Rude people; terrible rain."
    done = subprocess.run(
        ["node", "ask.mjs", "mood", *texts], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # Python's output for the same files, to the last digit.
    assert done.stdout.splitlines() == made.stdout.splitlines()[-2:]
    assert [line.split()[-2] for line in done.stdout.splitlines()] == ["good", "bad"]


def test_a_digit_is_drawn_in_the_browser(edge: Edge, tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "examples" / "js_browser", tmp_path / "js_browser")
    export(MODELS["digits"][0], web=folder / "model", web_runtime=edge.modules)
    found = run_node("draw.mjs", folder, edge.modules, edge.chromium)
    assert found["answer"] == "This is a 1."
