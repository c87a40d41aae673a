"""Where the wheel is tried: a Debian root, or an environment of this machine's interpreter.

mmdebstrap unpacks a root, and pip installs wheels built for it. Its interpreter runs in a chroot,
for another processor under QEMU's user emulation, whose binary is copied into the root: nothing is
registered with the kernel. Roots are kept; environments and pip's installations are created anew.
"""

import os
import platform
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

import pip

# Emulation takes about thirty times as long; a hang must still end.
PATIENCE_S = 1800
SHELL = (
    'root=$1; shift; mount -t proc proc "$root/proc" && mount -t tmpfs shm "$root/dev/shm" && '
    'exec chroot "$root" "$@"'
)


class Target(NamedTuple):
    """An interpreter on a processor."""

    architecture: str = "amd64"  # Debian's name
    machine: str = "x86_64"  # Python's and PyPI's
    suite: str | None = None  # the Debian suite of its interpreter; None for one of this machine
    extras: str = "grpc,hdf5"
    tests: tuple[str, ...] = ()  # tests that run there, beside `program.py`


class Place(NamedTuple):
    """A target's interpreter with the wheel installed."""

    command: list[str]  # the command that runs the interpreter
    work: Path  # a folder that is visible there
    seen: str  # that folder's name there
    version: str  # the version of Python
    is_emulated: bool = False


class PlatformError(Exception):
    """The wheel cannot be tried here, or a trial failed."""


def made(name: str, target: Target, wheel: Path, folder: Path) -> Place:
    """Make the place of a target, with the wheel in it and an empty working folder.

    Args:
        name: name of the target; of the interpreter if `target.suite` is None.
        target: what to make.
        wheel: pinnace's wheel.
        folder: folder for everything.

    Raises:
        PlatformError: a tool or an interpreter is missing, or a step failed.
    """
    requirement = f"pinnace[{target.extras}] @ {wheel.as_uri()}"
    folder.mkdir(parents=True, exist_ok=True)
    if target.suite is None:
        place = _environment(name, folder, requirement)
    else:
        place = _root(target, folder / "root", requirement)
    shutil.rmtree(place.work, ignore_errors=True)
    place.work.mkdir()
    return place


def tell(line: str) -> None:
    """Print without buffering, since programs inside print, too."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    """Run a command.

    Raises:
        PlatformError: it failed, or took too long.
    """
    try:
        done = subprocess.run(command, env=environment, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise PlatformError(f"{what} took more than {PATIENCE_S} s") from error
    if done.returncode:
        raise PlatformError(f"{what} failed with {done.returncode}; what it says stands above")


def _environment(name: str, folder: Path, requirement: str) -> Place:
    """An environment of one of this machine's interpreters."""
    found = shutil.which(name)
    asked = [found or name, "-c", "import platform; print(platform.python_version())"]
    # A name on the PATH may be a shim for a missing interpreter.
    told = subprocess.run(asked, capture_output=True, text=True, check=False) if found else None
    if told is None or told.returncode:
        raise PlatformError(
            f"no {name} on the PATH runs, and no suite of Debian has it\n"
            f"  Try: PATH=FOLDER:$PATH make interpreters ARGS={name}, where FOLDER has {name}"
        )
    tell(f"== an environment of {found}")
    environment = folder / "environment"
    run([asked[0], "-m", "venv", "--clear", "--without-pip", str(environment)], "venv")
    python = str(environment / "bin" / "python")
    run([*_pip(), "--python", python, *_INSTALL, requirement], "pip")
    work = folder / "checkout"
    return Place(["env", "-u", "PYTHONPATH", python], work, str(work), told.stdout.strip())


def _root(target: Target, root: Path, requirement: str) -> Place:
    """A Debian root."""
    if os.geteuid() != 0:
        raise PlatformError("needs root, for chroot and mounts\n  Try: sudo make")
    emulator = _emulator(target)
    _unpack(target, root)
    if emulator is not None:
        shutil.copy2(emulator, root / "emulator")
    (library,) = [one for one in (root / "usr/lib").glob("python3.*") if (one / "os.py").exists()]
    version = library.name.removeprefix("python")
    site = root / "site"
    shutil.rmtree(site, ignore_errors=True)
    tell(f"== wheels for Python {version} on {target.machine}")
    wanted = ["--target", str(site), "--only-binary", ":all:", "--no-compile", requirement]
    if emulator is None:
        # The root's interpreter, run by its own loader outside the chroot, where network and
        # settings are available. Its version is the one that markers of requirements must see.
        tools = root.parent / "tools"
        shutil.copytree(Path(pip.__file__).parent, tools / "pip", dirs_exist_ok=True)
        libraries = root / "usr/lib" / f"{target.machine}-linux-gnu"
        (loader,) = libraries.glob("ld-linux*.so.*")
        command = [str(loader), "--library-path", str(libraries), str(root / "usr/bin/python3")]
        settings = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(tools)}
        command += ["-W", "ignore", "-m", "pip", *_INSTALL, *wanted]
        run(command, "pip", {**os.environ, **settings})
    else:
        run([*_pip(), *_INSTALL, *_for(target, version), *wanted], "pip")
    emulated = ["/emulator"] if emulator is not None else []
    paths = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    clean = ["env", "-i", paths, "HOME=/tmp", "NUMBA_CACHE_DIR=/tmp/numba"]
    command = [*clean, "unshare", "--mount", "sh", "-c", SHELL, "sh", str(root), *emulated]
    command += ["/usr/bin/python3"]
    return Place(command, root / "checkout", "/checkout", version, emulator is not None)


_INSTALL = ["install", "-qq", "--disable-pip-version-check"]


def _pip() -> list[str]:
    return [sys.executable, "-m", "pip"]


def _for(target: Target, version: str) -> list[str]:
    """Options of pip for another processor's wheels; markers are still this interpreter's."""
    found = ["--python-version", version, "--implementation", "cp"]
    for abi in (f"cp{version.replace('.', '')}", "abi3", "none"):
        found += ["--abi", abi]
    for glibc in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"):
        found += ["--platform", f"{glibc}_{target.machine}"]
    return [*found, "--platform", "any"]


def _emulator(target: Target) -> Path | None:
    """QEMU for the target's programs if its processor is another one; Debian's tools exist."""
    needed = {"mmdebstrap": "mmdebstrap"}
    is_foreign = target.machine != platform.machine()
    program = f"qemu-{target.machine}-static"
    if is_foreign:
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
    return Path(shutil.which(program) or program) if is_foreign else None


def _unpack(target: Target, root: Path) -> None:
    """Make a root with Debian's interpreter, unless it exists."""
    if (root / "made").exists():
        return
    assert target.suite is not None
    tell(f"== Debian {target.suite} for {target.architecture}, by mmdebstrap")
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    archive = root.parent / "root.tar"
    command = ["mmdebstrap", "--quiet", "--variant=extract"]
    command += [f"--architectures={target.architecture}"]
    # A mirror's copy of a suite may have an expired index; signatures are still checked.
    command += ["--aptopt=Acquire::Check-Valid-Until false"]
    packages = ["python3", "libstdc++6", "libgcc-s1"]
    if target.tests:
        packages.append("curl")
    command += [f"--include={','.join(packages)}", target.suite, str(archive)]
    run(command, "mmdebstrap")
    with tarfile.open(archive) as file:
        # Device files cannot be made everywhere, and nothing here reads them.
        members = [one for one in file if not (one.ischr() or one.isblk())]
        file.extractall(root, members, filter="fully_trusted")
    archive.unlink()
    for folder in ("tmp", "proc", "dev/shm"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    # The sources of random bytes for gRPC and Python, and the null device.
    for device, minor in {"null": 3, "random": 8, "urandom": 9}.items():
        os.mknod(root / "dev" / device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        (root / "dev" / device).chmod(0o666)  # whatever the umask says: tests are other users, too
    (root / "tmp").chmod(0o1777)
    # A server prints `localhost` as its address; Debian's installer usually writes this file.
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    for folder in ("bin", "lib", "lib64", "sbin"):  # links into a package that is not unpacked
        if (root / "usr" / folder).is_dir() and not (root / folder).exists():
            (root / folder).symlink_to(f"usr/{folder}")
    # Processes that tests start must find the packages without an environment variable.
    library = root / "usr/lib/python3/dist-packages"
    library.mkdir(parents=True, exist_ok=True)
    (library / "site.pth").write_text("/site\n")
    (root / "made").touch()
