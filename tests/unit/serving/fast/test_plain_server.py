"""The server is complete without the folder `fast`."""

import os
import subprocess
import sys
from pathlib import Path

from architecture.sources import imports, modules
from pinnace.serving.client import Client
from unit.serving.numpy_models import write_version
from unit.serving.test_process import PROGRAM, TESTS, process, read_url, wait_until_ready

PLUGIN = "unit.serving.plain_server"
SERVER = TESTS / "unit" / "serving"
CORE = [
    *(f"http/test_{name}.py" for name in ("tfserving", "openinference", "kserve", "examples")),
    *(f"http/test_{name}.py" for name in ("npy", "health", "joined_replies")),
    *(f"requests/test_{name}.py" for name in ("policies", "control", "expansion")),
    "grpc/test_services.py",
]


def test_the_rest_of_the_server_reaches_it_in_one_place() -> None:
    inside = "pinnace.serving.fast"
    reaching = {
        name
        for name in modules()
        if not name.startswith(inside)
        and any(target.startswith(inside) for _, target in imports(name))
    }
    assert reaching == {"pinnace.serving.acceleration"}


def test_the_tests_of_the_core_pass_without_it() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(str(SERVER / name) for name in CORE)],
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def test_a_process_serves_without_it(tmp_path: Path) -> None:
    write_version(tmp_path / "half", 1, 2)
    program = tmp_path / "plain.py"
    program.write_text(
        f"import runpy, sys\nimport {PLUGIN} as plain\nplain.pytest_configure()\n"
        f"sys.argv[0] = {str(PROGRAM)!r}\nrunpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )
    with process("--rest_api_port=0", f"half={tmp_path / 'half'}", program=program) as server:
        url, _ = read_url(server)
        with Client(url) as client:
            wait_until_ready(client)
            assert client.predict("half", [1.0, 2.0]).tolist() == [2.5, 3.0]
