"""Exported models, and a table of the differences between each runtime and pinnace."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from edge.runtimes import MODELS, Edge, as_modules, rows, run_node, table
from pinnace.deploy.onnx import export


@pytest.fixture(scope="session")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Edge:
    """All exports, made once."""
    modules = os.environ.get("PINNACE_EDGE_MODULES")
    chromium = os.environ.get("PINNACE_CHROMIUM")
    if not modules or not chromium:
        pytest.fail("PINNACE_EDGE_MODULES and PINNACE_CHROMIUM are not set. Try: make edge")
    pages = tmp_path_factory.mktemp("pages").resolve()
    for name, (source, options) in MODELS.items():
        folder = source
        if callable(source):
            folder = pages / "made" / name
            source(folder)
        page = pages / f"{name}-onnx"
        file = pages / f"{name}.onnx"
        export(folder, file, ort=True, web=page, web_runtime=modules, **options)
        as_modules(page)
        other = shutil.copytree(page, pages / f"{name}-ort")
        shutil.copy(pages / f"{name}.ort", other / "model.ort")
        described = json.loads((other / "page.json").read_text())
        (other / "page.json").write_text(json.dumps({**described, "model": "model.ort"}))
    return Edge(Path(modules).resolve(), chromium, pages)


@pytest.fixture(scope="session")
def visited(edge: Edge) -> dict[str, dict[str, Any]]:
    """The browser's results for all pages."""
    names = [f"{name}-{form}" for name in MODELS for form in ("onnx", "ort")]
    return run_node("run_pages.mjs", edge.pages, edge.modules, edge.chromium, *names)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table."""
    if rows:
        terminalreporter.section("largest difference from pinnace, relative to the largest value")
        for line in table():
            terminalreporter.write_line(line)
