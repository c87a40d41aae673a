"""`make arm64`: the wheel on another processor.

Debian's mmdebstrap unpacks a root with its interpreter, pip fills it with wheels made for it, and
`program.py` runs inside by chroot: for another processor under QEMU's user emulation, whose
binary is put into the root (nothing is registered with the kernel). Then a server is started there
and asked from here. The numbers of the training are compared with those that this machine's own
interpreter comes to.

It needs root, and an internet connection to Debian's packages and PyPI the first time: the roots
stay in build/platforms.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "golden" / "saved_models"
HERE = Path(__file__).parent
OUT = ROOT / "build" / "platforms"
# Emulation takes about thirty times as long; a hang must end all the same.
PATIENCE_S = 900


class Target(NamedTuple):
    """Where the wheel is tried."""

    architecture: str  # Debian's name
    machine: str  # Python's and PyPI's
    suite: str  # of Debian, for its interpreter


TARGETS = {
    "arm64": Target("arm64", "aarch64", "bookworm"),
}


class PlatformError(Exception):
    """It cannot be tried here, or what was tried failed."""


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("wheel", type=Path)
    options = parser.parse_args()
    try:
        attempt(options.target, options.wheel.absolute())
    except PlatformError as error:
        sys.stderr.write(f"{options.target}: {error}\n")
        return 1
    return 0


def attempt(name: str, wheel: Path) -> None:
    """All of one target; raises PlatformError."""
    target = TARGETS[name]
    begun = time.monotonic()
    if os.geteuid() != 0:
        raise PlatformError(f"needs root, for chroot\n  Try: sudo make {name}")
    emulator = emulator_of(target)
    root = unpacked(name, target)
    if emulator is not None:
        shutil.copy2(emulator, root / "emulator")
    version = installed(root, target, wheel)
    work = root / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    shutil.copytree(MODELS, work / "models")
    shutil.copytree(ROOT / "tests" / "support", work / "tests" / "support")
    shutil.copy2(HERE / "program.py", work)
    tell(f"== this machine, {platform.machine()}")
    reference = OUT / "reference.npz"
    command = [sys.executable, str(HERE / "program.py"), str(MODELS), "--write", str(reference)]
    here = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    checked(subprocess.run(command, env=here, timeout=PATIENCE_S, check=False), "here")
    shutil.copy2(reference, work)
    tell(f"== {target.machine}, Python {version}" + (", emulated" if emulator else ""))
    arguments = ["/work/program.py", "/work/models", "--compare", "/work/reference.npz"]
    checked(subprocess.run(inside(root, arguments), timeout=PATIENCE_S, check=False), "there")
    served(root)
    tell(f"{name}: passed in {time.monotonic() - begun:.0f} s")


def emulator_of(target: Target) -> Path | None:
    """QEMU for the target's programs, if this processor is another; Debian's tools are there."""
    needed = {"mmdebstrap": "mmdebstrap"}
    foreign = target.machine != platform.machine()
    program = f"qemu-{target.machine}-static"
    if foreign:
        needed[program] = "qemu-user-static"
    missing = [package for tool, package in needed.items() if shutil.which(tool) is None]
    if missing:
        tell(f"installing {' '.join(missing)}")
        install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *missing]
        for command in (["apt-get", "update", "-qq"], install):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise PlatformError(
                    f"needs {' '.join(missing)}, which could not be installed: "
                    f"{done.stderr.strip()}\n  Try: sudo apt install {' '.join(missing)}"
                )
    return Path(shutil.which(program) or program) if foreign else None


def unpacked(name: str, target: Target) -> Path:
    """A root with Debian's interpreter, made once."""
    root = OUT / name / "root"
    if (root / "made").exists():
        return root
    tell(f"== Debian {target.suite} for {target.architecture}, by mmdebstrap")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    archive = root.parent / "root.tar"
    command = ["mmdebstrap", "--quiet", "--variant=extract"]
    command += [f"--architectures={target.architecture}"]
    command += ["--include=python3,libstdc++6,libgcc-s1", target.suite, str(archive)]
    checked(subprocess.run(command, timeout=PATIENCE_S, check=False), "mmdebstrap")
    with tarfile.open(archive) as file:
        # Device files cannot be made everywhere, and nothing here reads them.
        members = [one for one in file if not (one.ischr() or one.isblk())]
        file.extractall(root, members, filter="fully_trusted")
    archive.unlink()
    (root / "tmp").mkdir(exist_ok=True)
    (root / "dev").mkdir(exist_ok=True)
    # What gRPC and Python take random bytes from, and where output is dropped.
    for device, minor in {"null": 3, "random": 8, "urandom": 9}.items():
        os.mknod(root / "dev" / device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
    (root / "made").touch()
    return root


def installed(root: Path, target: Target, wheel: Path) -> str:
    """Put the wheel and its dependencies into the root, from wheels alone; the Python's version."""
    (library,) = [one for one in (root / "usr/lib").glob("python3.*") if (one / "os.py").exists()]
    version = library.name.removeprefix("python")
    digits = version.replace(".", "")
    shutil.rmtree(root / "site", ignore_errors=True)
    tell(f"== wheels for Python {version} on {target.machine}")
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    command += ["--target", str(root / "site"), "--only-binary", ":all:", "--no-compile"]
    command += ["--python-version", version, "--implementation", "cp"]
    for abi in (f"cp{digits}", "abi3", "none"):
        command += ["--abi", abi]
    for glibc in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"):
        command += ["--platform", f"{glibc}_{target.machine}"]
    command += ["--platform", "any", f"pinnace[grpc,hdf5] @ {wheel.as_uri()}"]
    checked(subprocess.run(command, timeout=PATIENCE_S, check=False), "pip")
    return version


def inside(root: Path, arguments: list[str]) -> list[str]:
    """The command that runs the root's interpreter with arguments."""
    emulator = ["/emulator"] if (root / "emulator").exists() else []
    settings = ["PYTHONPATH=/site:/work/tests", "HOME=/tmp", "NUMBA_CACHE_DIR=/tmp/numba"]
    command = [*emulator, "/usr/bin/python3", *arguments]
    return ["env", "-i", *settings, shutil.which("chroot") or "chroot", str(root), *command]


def served(root: Path) -> None:
    """Start a server there, ask it from here, stop it."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    program = "from pinnace.deploy.cli.main import run_process; run_process()"
    flags = ["serve", "--model", "cnn=/work/models/keras_cnn/model", "--rest_api_port", str(port)]
    flags += ["--host", "127.0.0.1", "--drain_s", "0"]
    begun = time.monotonic()
    process = subprocess.Popen(inside(root, ["-c", program, *flags]), start_new_session=True)
    try:
        with np.load(MODELS / "keras_cnn" / "io.npz") as recorded:
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
                if time.monotonic() - begun > PATIENCE_S / 3:
                    raise PlatformError(f"the server does not answer: {error}") from error
                time.sleep(0.2)
        gap = float(np.abs(np.array(found) - wanted).max())
        if not gap <= 2e-5:
            raise PlatformError(f"the server's answer is {gap} from what TensorFlow recorded")
        answered = time.monotonic() - begun
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        if code:
            raise PlatformError(f"the server ended with {code} after SIGTERM")
        tell(f"{answered:7.1f} s  a server there answered as TensorFlow did, and ended with 0")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def tell(line: str) -> None:
    """Print at once: what runs inside prints, too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def checked(done: "subprocess.CompletedProcess[bytes]", what: str) -> None:
    """Raise PlatformError if a command failed."""
    if done.returncode:
        raise PlatformError(f"{what} failed with {done.returncode}; what it says stands above")


if __name__ == "__main__":
    sys.exit(main())
