"""`make arm64`, `make interpreters`: the wheel on another processor, and on other Pythons.

`places.py` makes a place with the wheel. `program.py` runs there, and its training results are
compared with those of this machine's own interpreter. Then a server is started there and called
from here, and the target's tests run there, with the wheel, not with this checkout's code.

It needs root, and an internet connection to Debian's packages and PyPI. Its files stay in
build/platforms.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from places import PATIENCE_S, Place, PlatformError, Target, made, run, tell

ROOT = Path(__file__).resolve().parents[2]
MODELS = "tests/golden/saved_models"
PROGRAM = "tests/platforms/program.py"
OUT = ROOT / "build" / "platforms"
# Tests of code that depends on the interpreter: syntax trees and annotations, threads, files,
# sockets.
TESTS = (
    "tests/unit/framework",
    "tests/unit/storage",
    "tests/unit/graph",
    "tests/unit/autodiff",
    "tests/unit/functions",
    "tests/unit/data",
    "tests/unit/checkpoint",
    "tests/unit/saved_model",
    "tests/unit/serving",
)
ALL = "onnx,grpc,image,hdf5,score,dev"
TARGETS = {
    "arm64": Target("arm64", "aarch64", "bookworm"),
    "python3.12": Target(extras=ALL, tests=TESTS),
    "python3.13": Target(suite="trixie", extras=ALL, tests=TESTS),
    "python3.14": Target(suite="forky", extras=ALL, tests=TESTS),
}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("targets", choices=TARGETS, nargs="+")
    options = parser.parse_args()
    failed = 0
    for name in options.targets:
        try:
            attempt(name, options.wheel.absolute())
        except PlatformError as error:
            sys.stderr.write(f"{name}: {error}\n")
            failed = 1
    return failed


def attempt(name: str, wheel: Path) -> None:
    """Run everything for one target; raises PlatformError."""
    target = TARGETS[name]
    begun = time.monotonic()
    place = made(name, target, wheel, OUT / name)
    copy_checkout(place.work)
    tell(f"== this machine, {platform.machine()}")
    reference = place.work / "reference.npz"
    command = [sys.executable, str(ROOT / PROGRAM), str(ROOT / MODELS), "--write", str(reference)]
    run(command, "here")
    kind = ", emulated" if place.is_emulated else ""
    tell(f"== {target.machine}, Python {place.version}{kind}")
    seen = place.seen
    arguments = [f"{seen}/{PROGRAM}", f"{seen}/{MODELS}", "--compare", f"{seen}/reference.npz"]
    run([*place.command, *arguments], "there")
    served(place)
    if target.tests:
        tested(place, target.tests)
    tell(f"{name}: passed in {time.monotonic() - begun:.0f} s")


def copy_checkout(target: Path) -> None:
    """Copy the files that git knows here: the tests, and the data that they read."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # and not removed since then
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def tested(place: Place, tests: tuple[str, ...]) -> None:
    """Run tests there, two at a time."""
    program = "import os, sys, pytest; os.chdir(sys.argv[1]); sys.exit(pytest.main(sys.argv[2:]))"
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    run([*place.command, "-c", program, place.seen, *options], "a test")


def served(place: Place) -> None:
    """Start a server there, call it from here, stop it."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    program = "from pinnace.deploy.cli.main import run_process; run_process()"
    model = f"cnn={place.seen}/{MODELS}/keras_cnn/model"
    flags = ["serve", "--model", model, "--rest_api_port", str(port)]
    flags += ["--host", "127.0.0.1", "--drain_s", "0"]
    begun = time.monotonic()
    process = subprocess.Popen([*place.command, "-c", program, *flags], start_new_session=True)
    try:
        with np.load(ROOT / MODELS / "keras_cnn" / "io.npz") as recorded:
            x = recorded["001/serving_default/in/image"]
            wanted = recorded["001/serving_default/out/output_0"]
        body = json.dumps({"instances": x.tolist()}).encode()
        address = f"http://127.0.0.1:{port}/v1/models/cnn:predict"
        while True:
            try:
                with urllib.request.urlopen(address, body, timeout=60) as reply:
                    found = json.loads(reply.read())["predictions"]
                break
            except (urllib.error.URLError, ConnectionError) as error:
                if process.poll() is not None:
                    raise PlatformError(f"the server ended with {process.returncode}") from error
                if time.monotonic() - begun > PATIENCE_S / 6:
                    raise PlatformError(f"the server does not answer: {error}") from error
                time.sleep(0.2)
        gap = float(np.abs(np.array(found) - wanted).max())
        if not gap <= 2e-5:
            raise PlatformError(f"the server's answer is {gap} from what TensorFlow recorded")
        answered = time.monotonic() - begun
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired as error:
            raise PlatformError("the server goes on after SIGTERM") from error
        if code:
            raise PlatformError(f"the server ended with {code} after SIGTERM")
        tell(f"{answered:7.1f} s  a server there answered as TensorFlow did, and ended with 0")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
