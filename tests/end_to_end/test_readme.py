"""README's commands, run one after the other as a newcomer would."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from architecture.sources import ROOT

README = (ROOT / "README.md").read_text()
PROGRAM = re.search(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL).group(1)
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
ENVIRONMENT = {**os.environ, "PATH": PATH}


def written(start: str) -> str:
    """The command in README's backquotes that starts with this text."""
    return re.search(f"`({re.escape(start)} [^`]+)`", README).group(1)


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder in which README's program ran, with the model that it saved."""
    path = tmp_path_factory.mktemp("newcomer")
    (path / "program.py").write_text(PROGRAM)
    assert "output_0" in run(sys.executable, "program.py", folder=path)
    return path


def test_show_prints_what_requests_use(folder) -> None:
    shown = run(*shlex.split(written("pinnace show")), folder=folder)
    assert {"serving_default", "float32", "output_0"} <= set(re.findall(r"\w+", shown))


def test_export_says_what_it_compared(folder) -> None:
    command = shlex.split(written("pinnace export"))
    assert "ONNX Runtime" in run(*command, folder=folder)
    assert (folder / command[-1]).stat().st_size > 0


def test_the_curl_line_is_answered(folder) -> None:
    line = re.search(r"^ +(curl .+)$", README, re.MULTILINE).group(1)
    _, _, data, url = shlex.split(line)
    command = [*shlex.split(written("pinnace serve")), "--rest_api_port=0", "--port=0"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            place = next(line for line in server.stdout if line.startswith("Serving on")).split()[2]
            answer = httpx.post(url.replace("http://localhost:8501", place), content=data)
        finally:
            server.terminate()
            server.communicate(timeout=60)
    assert answer.status_code == 200, answer.text
    ((predicted,),) = answer.json()["predictions"]
    assert isinstance(predicted, float)
