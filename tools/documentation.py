"""Builds the documentation site into build/site, and fails if anything of it is broken."""

import argparse
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import api_reference
import class_examples
import site_checks
import site_pages
import source_pages
from pages import FOLDER as TABLES
from pages import PAGES

from pinnace.deploy.cli import search_index

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SITE = BUILD / "site"
API = TABLES / "api"
LISTINGS = TABLES / source_pages.FOLDER
LISTED = f"{source_pages.FOLDER}/"
# Pages are text: bytes follow from those before, and do not come in groups of four.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
# What tables are written from: one is kept until something there is newer.
SOURCES = {
    "onnx_coverage.md": ("core/ops", "deploy/onnx", "tests/cases"),  # it takes a minute
    "stablehlo_ops.md": ("saved_model/stablehlo",),
    "tfjs_ops.md": ("core/ops", "deploy/tfjs"),
}
OTHERS = ("core", "deploy", "serving")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--programs", type=Path, required=True, help="folder of zensical and lychee"
    )
    options = parser.parse_args()
    try:
        build(options.programs)
    except site_pages.PagesError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{' '.join(map(str, error.cmd))}: exit code {error.returncode}\n")
        return 1
    return 0


def build(programs: Path) -> None:
    """All steps, in order.

    Args:
        programs: the folder where `zensical` and `lychee` are.

    Raises:
        PagesError: a page is in no part, or the site would ask another host.
        CalledProcessError: a page cannot be built, or a link leads nowhere.
    """
    if stale := _stale():
        subprocess.run([sys.executable, ROOT / "tools" / "pages.py", *stale], check=True)
    classes = reference()
    settings = tomllib.loads((ROOT / "docs" / "site.toml").read_text())
    nav = site_pages.entries(ROOT, settings["nav"])
    listed = [path for paths in nav.values() for path in paths]
    dropped = site_pages.stage(ROOT, listed, BUILD / "site_pages")
    print(f"{len(listed)} pages; links to what is no page, kept as text: {len(dropped)}")
    config = _config(settings["project"], nav, classes)
    shutil.rmtree(SITE, ignore_errors=True)
    quiet = {**os.environ, "NO_COLOR": "1"}
    command = [programs / "zensical", "build", "--clean", "--strict", "--config-file", config]
    subprocess.run(command, check=True, env=quiet)
    if others := site_checks.foreign(SITE):
        raise site_pages.PagesError("the site asks other hosts:\n" + "\n".join(others))
    command = [programs / "lychee", "--offline", "--include-fragments", "--no-progress"]
    subprocess.run([*command, "--root-dir", SITE, SITE], check=True, env=quiet)
    packed = pack(SITE, BUILD / "site.tar.xz")
    print(f"{SITE.relative_to(ROOT)}; {packed.relative_to(ROOT)}: {packed.stat().st_size:,} bytes")


def reference() -> frozenset[str]:
    """Writes the pages of all names, with what the examples print now.

    Returns:
        The pages of classes.

    Raises:
        PagesError: an example raised.
    """
    runs = class_examples.results()
    if faults := [f"{name}\n{run.fault}" for name, run in runs.items() if run.fault]:
        raise site_pages.PagesError("docs/examples: these raised:\n" + "\n".join(faults))
    names = api_reference.Reference()
    for folder in (API, LISTINGS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for name, text in names.pages(runs, class_examples.examples()[1]).items():
        (API / name).write_text(text)
    names.listings(LISTINGS)
    folder = API.relative_to(ROOT)
    return frozenset((folder / entry.page).as_posix() for entry in names.classes.entries)


def _stale() -> list[str]:
    """The tables that are older than the code, or not there."""
    stale = []
    for name in PAGES:
        tops = SOURCES.get(name, OTHERS)
        newest = max(file.stat().st_mtime for top in tops for file in (ROOT / top).rglob("*.py"))
        if not (TABLES / name).exists() or (TABLES / name).stat().st_mtime < newest:
            stale.append(name)
    return stale


def _config(project: dict[str, Any], nav: dict[str, list[str]], classes: frozenset[str]) -> Path:
    """The settings as the builder reads them: JSON is YAML.

    The pages of classes are in no menu, which each page has: their namespace's page lists them.
    """
    extensions = [{name: options} for name, options in project["markdown_extensions"].items()]
    shown = {
        part: [site_pages.place(path) for path in paths if path not in classes]
        for part, paths in nav.items()
    }
    written = {
        **project,
        "markdown_extensions": extensions,
        "docs_dir": "site_pages",
        "site_dir": "site",
        "nav": [{part: paths} for part, paths in shown.items()],
    }
    file = BUILD / "mkdocs.yml"
    file.write_text(json.dumps(written, indent=1))
    return file


def pack(site: Path, target: Path) -> Path:
    """The site as one file, with the same bytes each time.

    Its pages are much alike: one stream is a third of what they take compressed one by one. Left
    out is what `pinnace docs` makes of the pages and of the files that are installed with it: the
    entries of the search index, and listings of source. So are styles that no page asks for: the
    builder has those of another theme.

    Args:
        site: folder.
        target: the archive to write.

    Returns:
        `target`.

    Raises:
        PagesError: the index that `pinnace docs` would make has other entries.
    """
    files = {
        file.relative_to(site).as_posix(): file.read_bytes()
        for file in sorted(site.rglob("*"))
        if file.is_file()
    }
    kept = {name: text for name, text in files.items() if not name.startswith(LISTED)}
    for name in _unused_styles(kept):
        del kept[name]
    if search_index.FILE in kept:
        kept[search_index.FILE] = _without_entries(kept)
    with (
        lzma.open(target, "wb", filters=FILTERS) as stream,
        tarfile.open(fileobj=stream, mode="w") as packed,
    ):
        for name, content in sorted(kept.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            packed.addfile(entry, io.BytesIO(content))
    return target


def _unused_styles(site: dict[str, bytes]) -> list[str]:
    pages = [text for name, text in site.items() if name.endswith(".html")]
    styles = [name for name in site if name.endswith(".css")]
    return [one for one in styles if not any(Path(one).name.encode() in text for text in pages)]


def _without_entries(site: dict[str, bytes]) -> bytes:
    """The search index without its entries; PagesError if they cannot be made again."""
    built = site[search_index.FILE]
    emptied = search_index.emptied(built)
    made = search_index.filled({**site, search_index.FILE: emptied})
    wanted, found = (
        {one["location"]: (one["title"], one["path"]) for one in json.loads(index)["items"]}
        for index in (built, made)
    )
    places = sorted(wanted.keys() | found.keys())
    if wrong := [place for place in places if wanted.get(place) != found.get(place)]:
        raise site_pages.PagesError(
            f"deploy/cli/search_index.py makes other entries than the site has: {wrong[:5]}"
        )
    return emptied


if __name__ == "__main__":
    sys.exit(main())
