"""Rules that ruff does not have: names of files, docstrings, forbidden texts."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from architecture.sources import ROOT, modules, written

NOT_A_NOUN = {"utils", "util", "helpers", "helper", "common", "misc"}
# Folders and package hosts of one machine: the tree is used elsewhere.
MACHINE = re.compile(r"(?i)(?:^|[^a-z0-9_.])/(?:work|farm|root|home/[a-z]+)/")
REGISTRY = re.compile(
    r"(?i)pypi\.org|pythonhosted\.org|registry\.npmjs|npmjs\.org|deb\.debian|debian\.org"
)
NOT_TEXT = {".gz", ".ico", ".index", ".jpg", ".npy", ".npz", ".onnx", ".pb", ".png", ".whl"}
OTHERS_WORDS = {"LICENSE"}


def files() -> Iterator[Path]:
    """Files that git tracks or would track; without git, files outside hidden and built folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode == 0 and (ROOT / ".git").exists():
        yield from (ROOT / name for name in listing.stdout.splitlines())
        return
    for file in ROOT.rglob("*"):
        parts = file.relative_to(ROOT).parts
        if not any(p[0] == "." or p in {"build", "dist", "models"} for p in parts[:-1]):
            yield file


FILES = sorted(path for path in set(files()) if path.is_file())
TEXTS = [path for path in FILES if path.suffix not in NOT_TEXT and path.name not in OTHERS_WORDS]


def test_files_are_nouns() -> None:
    wrong = [
        name
        for name in (path.relative_to(ROOT) for path in FILES)
        if NOT_A_NOUN & {*name.parts[:-1], name.stem}
    ]
    assert not wrong, f"say what is inside: {wrong}"


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY], ids=["machine", "registry"])
def test_texts_name_no_machine_and_no_registry(pattern: re.Pattern[str]) -> None:
    wrong = []
    for path in TEXTS:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # bytes that another program wrote
        wrong += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert not wrong, "\n".join(wrong)


def test_every_module_has_a_docstring() -> None:
    files = [file for name, file in modules().items() if written(name)]
    without = [
        str(file.relative_to(ROOT))
        for file in files
        if not ast.get_docstring(ast.parse(file.read_bytes()))
    ]
    assert not without, f"one line that says what is inside: {without}"


def test_the_patterns_find_what_they_should() -> None:
    assert MACHINE.search("open('" + "/".join(["", "root", "x"]) + "')")
    assert not MACHINE.search("see docs/work/notes.md")
    assert REGISTRY.search("https://" + ".".join(["pypi", "org"]))
