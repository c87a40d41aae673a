"""Writes the pages of the documentation that follow from the code, into build/docs/."""

import argparse
import os
import sys
from pathlib import Path

import api_page
import flag_table
import lite_coverage
import missing_names
import onnx_coverage
import op_table
import stablehlo_ops
import tfjs_table

FOLDER = Path(__file__).resolve().parent.parent / "build" / "docs"
PAGES = {
    "api.md": api_page.page,
    "flags.md": flag_table.page,
    "lite_coverage.md": lite_coverage.page,
    "not_here.md": missing_names.page,
    "ops.md": op_table.page,
    "stablehlo_ops.md": stablehlo_ops.page,
    "tfjs_ops.md": tfjs_table.page,
    "onnx_coverage.md": onnx_coverage.page,  # the last: it imports tests
}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", default=list(PAGES), metavar="PAGE", help="all if none")
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="FOLDER")
    options = parser.parse_args()
    folder: Path = options.into
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.pages:
        # Other processes see it whole.
        part = folder / f"{name}.{os.getpid()}"
        part.write_text(PAGES[name]())
        part.replace(folder / name)
        print(folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
