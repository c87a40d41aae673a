"""Files of tests/golden: bytes that TensorFlow or ONNX wrote, and ways to damage them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "golden"
MANIFEST = "MANIFEST.json"


def golden(name: str) -> Path:
    """The path of tests/golden/<name>, a file or a folder.

    Raises:
        AssertionError: it is missing, or a file's bytes are not those in the manifest.
    """
    path = FOLDER / name
    if not path.exists():
        raise AssertionError(f"tests/golden has no {name}; it has {sorted(records())}")
    for file in files_of(path):
        key = file.relative_to(FOLDER).as_posix()
        if sha256(file) != records().get(key, {}).get("sha256"):
            raise AssertionError(f"tests/golden/{key} is not the file that {MANIFEST} records")
    return path


def records() -> dict[str, dict[str, str]]:
    """File -> `script` (in tests/golden), `made_with` (library and version), `sha256`."""
    manifest = FOLDER / MANIFEST
    if not manifest.exists():
        return {}
    content: dict[str, dict[str, str]] = json.loads(manifest.read_text())
    return content


def record(name: str, *, script: str, made_with: str) -> None:
    """Add the files of tests/golden/<name> to the manifest; called by the script that made them."""
    new = {
        file.relative_to(FOLDER).as_posix(): {
            "script": script,
            "made_with": made_with,
            "sha256": sha256(file),
        }
        for file in files_of(FOLDER / name)
    }
    content = dict(sorted({**records(), **new}.items()))
    (FOLDER / MANIFEST).write_text(json.dumps(content, indent=1) + "\n")


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files below a folder."""
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def sha256(file: Path) -> str:
    """The file's SHA-256, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def truncations(data: bytes, limit: int = 4096) -> Iterator[bytes]:
    """Every proper prefix of `data`; of long data, the first and last ones and some in between."""
    if len(data) <= limit:
        ends = list(range(len(data)))
    else:
        third = limit // 3
        middle = range(third, len(data) - third, max(1, (len(data) - 2 * third) // third))
        ends = [*range(third), *middle, *range(len(data) - third, len(data))]
    for end in ends:
        yield data[:end]


def flips(data: bytes, every: int = 1) -> Iterator[bytes]:
    """`data` with one flipped bit: bit n % 8 of each `every`-th byte n."""
    for n in range(0, len(data), every):
        yield data[:n] + bytes([data[n] ^ (1 << n % 8)]) + data[n + 1 :]
