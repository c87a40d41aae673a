"""The pages of the site: the repository's pages at their paths, with links rewritten."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

CODE = re.compile(r"(^```.*?^```|`+[^`\n]*`+)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# What is copied as it is where a page links to it: pictures, listings of source.
COPIED = {".png", ".svg", ".jpg", ".html"}
# Where pages of the root and of build/ go; those of docs/ keep their places.
MOVED = {"README.md": "index.md", "docs/index.md": "contents.md"}


class PagesError(Exception):
    """A page says what is not so."""


def place(path: str) -> str:
    """The path in the site of a file of the repository.

    Args:
        path: from the root of the repository, with slashes.

    Returns:
        The path from the root of the site's sources.
    """
    if path in MOVED:
        return MOVED[path]
    for folder in ("docs/", "build/docs/"):
        if path.startswith(folder):
            return path.removeprefix(folder)
    return path if "/" in path else f"project/{path}"


def entries(root: Path, nav: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The paths of each part, with a folder's pages in the place of the folder.

    Args:
        root: of the repository.
        nav: part -> pages, and folders whose other pages follow in order of name.

    Returns:
        part -> pages, each of them once.

    Raises:
        PagesError: a page is not there, or one of docs/ is in no part.
    """
    named = {path for paths in nav.values() for path in paths}
    found: dict[str, list[str]] = {}
    for part, paths in nav.items():
        found[part] = []
        for path in paths:
            if path.endswith("/"):
                inside = sorted(file.name for file in (root / path).glob("*.md"))
                found[part] += [path + name for name in inside if path + name not in named]
            elif (root / path).is_file():
                found[part].append(path)
            else:
                raise PagesError(f"docs/site.toml: {path} of {part!r} is not there")
    listed = {path for paths in found.values() for path in paths}
    written = {file.relative_to(root).as_posix() for file in (root / "docs").rglob("*.md")}
    if missing := sorted(written - listed):
        raise PagesError(f"docs/site.toml: in no part: {', '.join(missing)}")
    return found


def stage(root: Path, pages: Iterable[str], into: Path) -> list[str]:
    """Copies pages, their pictures and listings, with links as they are on the site.

    Args:
        root: of the repository.
        pages: paths from there.
        into: folder that gets them; what it held is gone.

    Returns:
        Links that lead to files which are not on the site, whose text stays: "page: target".
    """
    shutil.rmtree(into, ignore_errors=True)
    places = {path: place(path) for path in pages}
    dropped: list[str] = []
    for path, target in places.items():
        file = into / target
        file.parent.mkdir(parents=True, exist_ok=True)
        text = (root / path).read_text()
        file.write_text(_with_links(text, path, places, root, into, dropped))
    return dropped


def _with_links(
    text: str, page: str, places: Mapping[str, str], root: Path, into: Path, dropped: list[str]
) -> str:
    home = PurePosixPath(page).parent

    def moved(link: re.Match[str]) -> str:
        mark, said, target = link.groups()
        path, _, part = target.partition("#")
        if "://" in path or not path:
            return link[0]
        named = os.path.normpath(home / path)
        if (root / named).is_dir():  # a folder is told by its first page
            named = next((one for one in places if one.startswith(named + "/")), named)
        if Path(named).suffix in COPIED:
            place_ = place(named)
            if not (into / place_).exists():
                (into / place_).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / named, into / place_)
        elif named in places:
            place_ = places[named]
        else:
            dropped.append(f"{page}: {target}")
            return said
        relative = os.path.relpath(place_, PurePosixPath(places[page]).parent)
        return f"{mark}[{said}]({relative}{'#' + part if part else ''})"

    # What is code is every second piece.
    pieces = CODE.split(text)
    # A link's text may be code, so code is set aside while links are read.
    kept = {f"\x00{at}\x00": piece for at, piece in enumerate(pieces) if at % 2}
    joined = "".join(f"\x00{at}\x00" if at % 2 else piece for at, piece in enumerate(pieces))
    result = LINK.sub(moved, joined)
    for key, piece in kept.items():
        result = result.replace(key, piece)
    return result
