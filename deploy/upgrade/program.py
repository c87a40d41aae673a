"""One program, as text: what stands in its place, and what is to be told of it."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, ScopeProvider

from pinnace.deploy.upgrade.findings import Finding, Findings, Level
from pinnace.deploy.upgrade.imports import imported
from pinnace.deploy.upgrade.missing import names_that_are_missing
from pinnace.deploy.upgrade.naming import Names
from pinnace.deploy.upgrade.options import TENSORFLOW, Options
from pinnace.deploy.upgrade.rewriting import Rewriter


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A program that was upgraded.

    Attributes:
        text: of the new program; the old one if nothing changed or it could not be read.
        findings: what was changed, and what a person must do, by line.
        read: whether it is Python 3.
    """

    text: str
    findings: tuple[Finding, ...]
    read: bool = True


def upgrade_program(text: str, options: Options | None = None) -> Upgraded:
    """Rewrite a program of TensorFlow 1.

    All that is not rewritten stays as it is, to the last space. What comes out compiles if `text`
    does, and is what comes out of it again.

    Args:
        text: its source, with any ends of lines.
        options: how; None: as they are by default.

    Returns:
        The new program, and what there is to tell. A source that is no Python 3 comes back as it
        is, with a finding that says where it is none.
    """
    options = options or Options()
    if "tensorflow" not in text and "tf" not in text and "make_" not in text:
        # Most files of a tree; a program that is no Python is told of nevertheless.
        problem = _problem(text)
        return Upgraded(text, () if problem is None else (problem,), problem is None)
    problem = _problem(text)
    if problem is not None:
        return Upgraded(text, (problem,), read=False)
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        return Upgraded(text, (_unread(error.raw_line, error.raw_column, error.message),), False)
    if module.code != text:
        what = "this could not be kept as it is, to the last character; so it was left."
        finding = Finding(1, 0, Level.ERROR, what, remedy="End its lines as Unix or Windows does.")
        return Upgraded(text, (finding,), read=False)
    findings = Findings()
    new = _rewritten(module, options, findings)
    if _problem(new) is not None:
        what = "what came out of the upgrade is no Python, so the program was left as it is."
        findings.add(Finding(1, 0, Level.ERROR, what, remedy="Upgrade it by hand."))
        new = text
    missing: tuple[Finding, ...] = ()
    if options.module != TENSORFLOW:
        missing = names_that_are_missing(new, options.module)
    return Upgraded(new, (*findings.in_order(), *missing))


def _rewritten(module: cst.Module, options: Options, findings: Findings) -> str:
    found = imported(module, options)
    wrapper = MetadataWrapper(module)
    names = Names(wrapper.resolve(ScopeProvider), options, found.roots, found.kept)
    return wrapper.visit(Rewriter(names, options, findings)).code


def _problem(text: str) -> Finding | None:
    """Why a text is no Python; None if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a person's `"\d"` is not our matter
            ast.parse(text)
    except SyntaxError as error:
        return _unread(error.lineno or 1, max((error.offset or 1) - 1, 0), error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        return _unread(1, 0, str(error) or type(error).__name__)
    return None


def _unread(line: int, column: int, said: str) -> Finding:
    return Finding(
        line,
        column,
        Level.ERROR,
        f"this is no Python 3: {said}.",
        "a program is read before it is rewritten; this one was left as it is.",
        "If it is Python 2, run 2to3 or futurize on it before.",
    )
