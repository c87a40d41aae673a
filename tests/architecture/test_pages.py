"""The pages that `make pages` generates from the code are complete."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from architecture.sources import ROOT
from pinnace.framework.config import settings_from

# Number of ops whose cases ran in ONNX Runtime, by what had to be known of their inputs: a lower
# number means that a converter lost something.
RAN = {"ranks": 331, "sizes": 25, "first argument": 7}

# Modules whose public names are not shown.
MODULES = {
    "tf.deploy",
    "tf.serving",
    "tf.raw_ops",
    "tf.math.histograms",
    "tf.strings.splitting",
    "tf.compat.v2",  # the names of tf itself
    "tf.distribute.cluster_resolver",  # its names say why they are missing
}


def is_current(page: Path) -> bool:
    """Whether this page is as the sources are now."""
    tops = ("core", "deploy", "proto", "saved_model", "serving", "tests", "tools")
    newest = max(file.stat().st_mtime for top in tops for file in (ROOT / top).rglob("*.py"))
    return page.exists() and page.stat().st_mtime > newest


def rows(page: str, folder: Path) -> dict[str, list[list[str]]]:
    """Heading -> the cells of its rows, of a page that a separate process wrote. Names that other
    tests register or import must not be on it. `make docs` may have written it: one takes a minute.
    """
    if is_current(ROOT / "build" / "docs" / page):
        folder = ROOT / "build" / "docs"
    else:
        command = [sys.executable, ROOT / "tools" / "pages.py", page, "--into", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in (folder / page).read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = []
        elif line.startswith("| ") and not line.startswith(("| op", "| name |", "| flag |")):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found[heading].append([cell.strip().strip("`") for cell in cells])
    return found


def test_every_public_name_has_a_line_that_says_what_it_is(tmp_path: Path) -> None:
    page = rows("api.md", tmp_path)
    listed = (ROOT / "docs" / "public_names.txt").read_text().split()
    names = {re.sub("^pinnace", "tf", name) for name in listed}
    spaces = {name.rpartition(".")[0] for name in names}
    missing = [
        name
        for name in names - spaces - set(page) - MODULES
        for space, _, last in [name.rpartition(".")]
        if page.get(space) and last not in {row[0] for row in page[space]}
    ]
    assert not missing, f"not in api.md: {sorted(missing)}"
    silent = [f"{space}.{row[0]}" for space, found in page.items() for row in found if not row[1]]
    assert not silent, f"no docstring: {silent}"


def test_every_op_has_a_row_with_its_signature(tmp_path: Path) -> None:
    page = rows("ops.md", tmp_path)
    names = [row[0] for found in page.values() for row in found]
    assert len(names) == len(set(names)) > 700
    assert all(re.search("->", row[1]) for found in page.values() for row in found)
    assert {"math/arithmetic", "nn/smooth"} <= set(page)


def test_every_op_of_stablehlo_is_translated_or_refused_with_a_reason(tmp_path: Path) -> None:
    page = rows("stablehlo_ops.md", tmp_path)
    said = [row for found in page.values() for row in found]
    assert [row for row in said if len(row) != 2 or not all(row)] == []
    names = [row[0] for part in ("Translated", "Refused") for row in page[part]]
    assert len(names) == len(set(names)) == 118
    assert {"dot_general", "dynamic_gather"} <= {row[0] for row in page["Translated"]}


def test_every_op_is_written_for_tensorflow_js_or_is_not_there(tmp_path: Path) -> None:
    page = rows("tfjs_ops.md", tmp_path)
    written = [row for part in ("As it is", "By a rule") for row in page[part]]
    assert [row for row in written if len(row) != 2 or not all(row)] == []
    names = {row[0] for row in written}
    missing = {row[0] for row in page["Not there"]}
    assert len(names) > 200
    assert not names & missing
    ops = [row[0] for found in rows("ops.md", tmp_path).values() for row in found]
    assert set(ops) == names | missing


def test_every_flag_says_what_it_does(tmp_path: Path) -> None:
    page = rows("flags.md", tmp_path)
    said = [row for found in page.values() for row in found]
    assert [row for row in said if len(row) != 2 or not all(row)] == []
    assert {"--host HOST", "--enable_batching BOOL"} <= {row[0] for row in said}


def test_every_op_is_converted_or_refused_and_those_ran_that_did(tmp_path: Path) -> None:
    page = rows("onnx_coverage.md", tmp_path)
    refused = {name for row in page.pop("Not converted") for name in row[0].split(", ")}
    converted = [row for found in page.values() for row in found]
    names = {row[0] for row in converted}
    assert not names & refused
    ran = Counter(row[3] for row in converted)
    at_least = ran["ranks"]
    assert at_least >= RAN["ranks"], "set RAN only if it is meant"
    assert at_least + ran["sizes"] >= RAN["ranks"] + RAN["sizes"]
    assert ran.total() - ran["-"] >= sum(RAN.values())
    ops = [row[0] for found in rows("ops.md", tmp_path).values() for row in found]
    assert set(ops) == names | refused


def test_the_page_of_keras_files_has_the_files_that_are_there() -> None:
    """The tool fails if a file's kind has no line, or a line has no file."""
    tool = ROOT / "tools" / "keras_files_table.py"
    told = subprocess.run([sys.executable, tool], check=True, capture_output=True, text=True).stdout
    page = ROOT / "docs" / "reference" / "keras_files.md"
    assert page.read_text() == told, "Try: python tools/keras_files_table.py --write"


def test_the_page_of_variables_has_all_that_the_code_reads() -> None:
    """The tool fails if a name has no line, or a line no name."""
    tool = ROOT / "tools" / "environment_page.py"
    told = subprocess.run([sys.executable, tool], check=True, capture_output=True, text=True).stdout
    page = ROOT / "docs" / "reference" / "environment.md"
    assert page.read_text() == told, "Try: python tools/environment_page.py --write"
    lines = re.findall(r"^\| `(\w+)` \| (.*?) \|", told, re.M)
    assert len(lines) == len({name for name, _ in lines}) > 30
    defaults = dict(lines)
    plain = settings_from({})
    for name, found in {
        "PINNACE_THREADS": plain.intra_op_threads,
        "PINNACE_TIER": plain.tier,
        "PINNACE_FUSION": plain.fusion,
        "PINNACE_EAGER": plain.run_eagerly,
        "PINNACE_DETERMINISM": plain.deterministic,
        "PINNACE_CHECK": plain.check,
        "PINNACE_POISON": plain.poison,
    }.items():
        said = defaults[name].strip("`").partition(":")[0]
        assert said == (str(int(found)) if isinstance(found, int) else found), name
