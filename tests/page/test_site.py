"""The documentation that `pinnace docs` serves, in a real browser, searched without internet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.page
PROGRAM = Path(__file__).parent / "programs" / "read.py"
PAGES = {
    "index.html": "pinnace",
    "api/tf.keras.layers.html": "tf.keras.layers",
    "api/tf.keras.layers.Dense.html": "tf.keras.layers.Dense",
    "how_fast.html": "How fast, and how it was measured",
    "guide/serving.html": "Serving",
}


def test_pages_open_and_a_name_is_found_and_no_other_host_is_asked() -> None:
    python = os.environ.get("PINNACE_PAGE_PYTHON")
    if not python:
        pytest.fail("PINNACE_PAGE_PYTHON is not set: run `make page`")
    command = [Path(sys.executable).with_name("pinnace"), "docs", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            url = server.stdout.readline().split()[2]
            done = subprocess.run(
                [python, PROGRAM, url, "LayerNormalization", *PAGES],
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr[-4000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["complaints"] == []
    assert [title.rstrip("¶") for title in seen["titles"]] == list(PAGES.values())
    assert seen["found"].startswith(f"{url}api/tf.keras.layers.LayerNormalization.html")
    assert all(one.startswith(("data:", "blob:", url)) for one in seen["requests"])
    assert any(one.endswith("search.json") for one in seen["requests"])
