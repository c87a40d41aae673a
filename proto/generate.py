"""Write `*_pb2.py` and `*_pb2.pyi` from the .proto files of this folder.

Run it as `python proto/generate.py [--out FOLDER]` with a Python that has grpcio-tools 1.76.0:
that release carries protoc 31.1, and generated code loads in protobuf runtimes from its own
version on, so an old protoc means that old runtimes are served too.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

PROTOC = "libprotoc 31.1"
TOOLS = "grpcio-tools==1.76.0"
HERE = Path(__file__).resolve().parent


def _protoc(*arguments: str) -> str:
    """The output of protoc; RuntimeError with its complaints if it fails."""
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.strip()


def generate(out: Path) -> list[Path]:
    """The files written into `out`, in alphabetical order.

    Args:
        out: an existing folder.

    Raises:
        RuntimeError: protoc is missing or of another version, or refuses a file.
    """
    version = _protoc("--version")
    if version != PROTOC:
        raise RuntimeError(f"generate: needs {PROTOC} (pip install {TOOLS}), found {version}")
    with tempfile.TemporaryDirectory() as temporary:
        # The files stand under their import names: these names go into the descriptor pool, which
        # a process may share with TensorFlow, and into the generated imports.
        source = Path(temporary, "source")
        package = source / "pinnace" / "proto"
        package.mkdir(parents=True)
        names = sorted(path.name for path in HERE.glob("*.proto"))
        for name in names:
            shutil.copyfile(HERE / name, package / name)
        result = Path(temporary, "result")
        result.mkdir()
        _protoc(
            f"-I{source}",
            f"-I{resources.files('grpc_tools') / '_proto'}",
            f"--python_out={result}",
            f"--pyi_out={result}",
            *(f"pinnace/proto/{name}" for name in names),
        )
        written = []
        for path in sorted((result / "pinnace" / "proto").iterdir()):
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".pyi":
                # protoc leaves out what strict type checking asks for.
                text = text.replace(", _Mapping]", ", _Mapping[str, object]]")
            place = out / path.name
            place.write_text(text, encoding="utf-8", newline="\n")
            written.append(place)
    return written


def main() -> None:
    """Generate into `--out`, by default beside the .proto files, and remove what is stale there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE, help="folder to write into")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    written = set(generate(out))
    for path in (*out.glob("*_pb2.py"), *out.glob("*_pb2.pyi")):
        if path not in written:
            path.unlink()
    sys.stdout.write(f"{len(written)} files in {out}\n")


if __name__ == "__main__":
    main()
