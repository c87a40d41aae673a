"""Writes a page's folder: the page, its program, the runtime and the model."""

import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from pinnace.deploy.page.contents import Page, description_of
from pinnace.deploy.page.runtimes import Found
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.atomic import write_file

# The page comes last, when all other files are there.
_OWN = ("tensors.js", "pictures.js", "page.js", "page.css", "index.html")
_LIMIT = 1_500_000_000  # bytes; WebAssembly has 4 GB for the file, the weights and the values


def write_page(folder: str | os.PathLike[str], page: Page, runtime: Found) -> Path:
    """Write a page; other files in the folder are kept.

    Args:
        folder: created if it does not exist.
        page: the contents.
        runtime: the runtime for the model.

    Returns:
        The folder.

    Raises:
        InvalidArgumentError: `folder` is a file, or the model is too large for WebAssembly.
    """
    target = Path(folder)
    check_place(folder)
    if page.content is not None and len(page.content) > _LIMIT:
        raise InvalidArgumentError(
            f"export: browsers can load models of up to {_LIMIT / 1e9:.1f} GB, this one has "
            f"{len(page.content) / 1e9:.1f} GB\n  Try: --int8 or --float16"
        )
    for name, content in _files(page, runtime):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(target / name, content)
    return target


def check_place(folder: str | os.PathLike[str]) -> None:
    """Refuse a file at the path of the page's folder.

    Raises:
        InvalidArgumentError: the path is a file.
    """
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InvalidArgumentError(
            f"export: the page must be a folder, {os.fspath(folder)!r} is a file"
        )


def _files(page: Page, found: Found) -> Iterator[tuple[str, bytes]]:
    runtime = found.runtime
    for name, content in found.contents():
        yield f"{runtime.folder}/{name}", content
    if page.content is not None:
        yield page.model, page.content
    yield "page.json", json.dumps(description_of(page, runtime, found.version)).encode()
    own = resources.files("pinnace.deploy.page") / "files"
    yield "runtime.js", (own / runtime.module).read_bytes()
    for name in _OWN:
        yield name, (own / name).read_bytes()
