"""The pictures of docs/tutorials, written by the snippets of its pages.

`--write` runs the pages and stores their pictures in docs/tutorials/pictures. In any case it prints
which pictures a page shows but does not write, or which are missing.
"""

import argparse
import doctest
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "tutorials"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="run the pages, keep what they draw")
    if parser.parse_args().write:
        for page in pages():
            draw(page)
    found = [line for page in pages() for line in faults(page)]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


def pages() -> list[Path]:
    """All tutorials."""
    return sorted(FOLDER.glob("*.md"))


def shown(page: Path) -> list[str]:
    """Names of the pictures that a page shows and must write."""
    return re.findall(r"\]\(pictures/([^)]+)\)", page.read_text())


def faults(page: Path) -> list[str]:
    """The problems with the pictures of a page, one per line."""
    code = "".join(
        example.source for example in doctest.DocTestParser().get_examples(page.read_text())
    )
    found = []
    for name in shown(page):
        if f'"{name}"' not in code:
            found.append(f"{page.name}: no snippet writes {name}")
        if not (FOLDER / "pictures" / name).is_file():
            found.append(f"{page.name}: pictures/{name} is not there")
    return found


def draw(page: Path) -> None:
    """Run the snippets of a page in an empty folder, and keep its pictures."""
    here = Path.cwd()
    test = doctest.DocTestParser().get_doctest(page.read_text(), {}, page.name, str(page), 0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
        finally:
            os.chdir(here)
        if result.failed:
            raise SystemExit(f"{page.name}: {result.failed} snippets failed")
        for name in shown(page):
            shutil.copyfile(Path(folder, name), FOLDER / "pictures" / name)


if __name__ == "__main__":
    sys.exit(main())
