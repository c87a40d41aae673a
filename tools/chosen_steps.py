"""Which steps of `.ci/run` a change needs: the table `.ci/steps.toml`, asked with what git says.

Prints a line per step: `run` or `left out`, its name, and why, with tabs between. A step of folders
runs if a file of one of them changed, or a module in one of them imports a changed module. Changes
are those since the last commit that landed: `SINCE`, else where the branch left `main`, else the
last commit of the day before, for a landing may be many commits. Where git knows none of these (an
export, a clone of one commit), each file counts as changed. WHOLE=1, which the schedule's run of
each week has, runs all.
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import house
import quick

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / ".ci" / "steps.toml"
_NO_TENSORFLOW = "WITHOUT_TENSORFLOW leaves it out"
_MAIN = ("origin/main", "main")
_DAY_S = 86400


class Step(NamedTuple):
    """A step, whether it runs, and why."""

    name: str
    runs: bool
    reason: str


def main() -> int:
    """Print the steps for what stands in this tree."""
    base, why = base_commit(os.environ.get("SINCE"))
    touched = None if base is None else touched_files(quick.changes(base))
    whole = "WHOLE=1" if os.environ.get("WHOLE") else ""
    print(f"changes since {base[:12]}, {why}" if base else f"all files: {why}", file=sys.stderr)
    for step in steps(touched, whole, bool(os.environ.get("WITHOUT_TENSORFLOW"))):
        print("run" if step.runs else "left out", step.name, step.reason, sep="\t")
    return 0


@cache
def table() -> dict[str, Any]:
    """`.ci/steps.toml`."""
    return tomllib.loads(TABLE.read_text())


def steps(touched: set[str] | None, whole: str, without_tensorflow: bool) -> list[Step]:
    """Every step of the table.

    Args:
        touched: the files to check, or None for all.
        whole: why the whole must run; empty if it need not.
        without_tensorflow: whether what needs it is left out.
    """
    known = table()
    (environment, needing), *_ = known["with"].items()
    everything = touched is None or any(map(_inside(known["everything"]), touched))
    found = [Step(name, True, "gate") for name in known["gate"]]
    for name, folders in known["touched"].items():
        nearest = next(filter(_inside(folders), sorted(touched or ())), "")
        every = "any file may have changed it" if everything else ""
        why = whole or nearest or every
        found.append(Step(name, bool(why), why or "nothing that it checks was touched"))
    why = whole or "once a week, and with WHOLE=1"
    found += [Step(name, bool(whole), why) for name in known["whole"]]
    if without_tensorflow:
        found = [Step(s.name, False, _NO_TENSORFLOW) if s.name in needing else s for s in found]
    asking = [step.name for step in found if step.runs and step.name in needing]
    idle = _NO_TENSORFLOW if without_tensorflow else "no step that runs needs it"
    return [*found, Step(environment, bool(asking), f"for {asking[0]}" if asking else idle)]


def touched_files(changed: Iterable[str]) -> set[str]:
    """Changed files, and those of the library that import one."""
    changed = set(changed)
    files = {name: file.relative_to(ROOT).as_posix() for name, file in house.sources(ROOT).items()}
    own = {name for name, file in files.items() if file in changed}
    graph = house.edges_of(ROOT) if own else {}
    importers = {name for name, used in graph.items() if used & own}
    return {*changed, *(files[name] for name in importers)}


def base_commit(since: str | None) -> tuple[str | None, str]:
    """The commit to compare with, or None; and where it comes from."""
    if not _git("rev-parse", "HEAD"):
        return None, "this is no clone"
    if since:
        found = _git("rev-parse", "--verify", f"{since}^{{commit}}")
        return (found, f"SINCE={since}") if found else (None, f"SINCE={since} is not in the clone")
    head = _git("rev-parse", "HEAD")
    for branch in _MAIN:
        found = _git("merge-base", "HEAD", branch)
        if found and found != head:
            return found, f"where this left {branch}"
    before = int(_git("log", "-1", "--format=%ct")) - _DAY_S
    found = _git("rev-list", "-1", f"--before={before}", "HEAD")
    return (found, "a day before this") if found else (None, "the clone has no commit of yesterday")


def _inside(folders: Iterable[str]) -> Callable[[str], bool]:
    """A function that says whether a path is one of these, or below."""
    places = [Path(folder) for folder in folders]
    return lambda path: any(Path(path).is_relative_to(place) for place in places)


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
