"""The upgrade of a program's text."""

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
    """An upgraded program.

    Attributes:
        text: the new program; the old one if nothing changed or it could not be parsed.
        findings: the changes, and the advice for the user, by line.
        read: whether it is Python 3.
    """

    text: str
    findings: tuple[Finding, ...]
    read: bool = True


def upgrade_program(text: str, options: Options | None = None) -> Upgraded:
    """Rewrite a program of TensorFlow 1.

    Everything that is not rewritten is preserved, including whitespace. The result compiles if
    `text` does, and upgrading it again changes nothing.

    Args:
        text: the source, with any line endings.
        options: the options; None for the defaults.

    Returns:
        The new program and its findings. A source that is not Python 3 is returned unchanged, with
        a finding at the syntax error.
    """
    options = options or Options()
    if "tensorflow" not in text and "tf" not in text and "make_" not in text:
        # True of most files in a tree; syntax errors are reported nevertheless.
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
    """Why a text is not valid Python; None if it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's code may cause some, such as "\d"
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
