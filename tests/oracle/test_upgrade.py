"""`pinnace upgrade` against TensorFlow's own `tf_upgrade_v2`, for every rule and many programs."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pinnace.deploy.upgrade import Options, upgrade_program
from pinnace.deploy.upgrade.facts import facts
from support.version_1_programs import PROGRAMS

WORKER = Path(__file__).with_name("upgrading.py")
HEAD = "import tensorflow as tf"
# Programs that we rewrite differently, and why. A program is listed only while the two differ.
DEVIATIONS = {
    "another_alias": "names are found by the program's imports, whatever they are called",
    "no_alias": "names are found by the program's imports, whatever they are called",
    "names_imported_alone": "`from tensorflow import log` would fail: it comes from compat.v1",
    "compat_import_from": "`from tensorflow.compat import v1 as tf` is an import of v1 as tf, too",
    "shadowed": "what a function calls tf is no TensorFlow",
    "losses_and_metrics": (
        "softmax_cross_entropy_with_logits_v2 by its new name would get stop_gradient the next time"
    ),
    "shapes": "batch_to_space_nd by its new name would be reordered the next time",
    "star_after_reordered": "TensorFlow's drops the *arguments",
    "verified_shapes": "TensorFlow's writes a keyword that no function takes",
    "ragged_splits": "without result_type it would get to_sparse() the next time",
    "keyword_regularizers": "Keras 3 has no l=; a conditional in a conditional needs brackets",
    "deterministic_pools": "TensorFlow's fails",
    "devices": "TensorFlow's fails",
    "unoptimised_zeros": "compat.v1.zeros_like has the old keyword",
    "resized_by_name": "the fourth argument is name; half_pixel_centers is not in version 2",
    "removed_with_comments": "comments stay where they are",
    "written_twice": "TensorFlow's adds a keyword that is there, and changes its own name scopes",
}
# The same for single rules.
DEVIATING_LINES = {
    "tf.manip.space_to_batch_nd": "the new name is not in version 2",
    "tf.contrib.rnn.LSTMStateTuple": "the new name is not in version 2",
    "tf.nn.avg_pool_v2": "the new name is renamed the next time",
    "tf.nn.max_pool_v2": "the new name is renamed the next time",
    "tf.nn.ctc_beam_search_decoder_v2": "the new name takes other arguments the next time",
    "tf.nn.softmax_cross_entropy_with_logits_v2": "would get stop_gradient the next time",
    "tf.nn.softmax_cross_entropy_with_logits_v2 dim": "likewise",
    "tf.nn.softmax_cross_entropy_with_logits_v2 dim alone": "likewise",
}


def names() -> dict[str, str]:
    return {name: f"x = {name}" for name in facts().renames}


def keywords() -> dict[str, str]:
    lines = {}
    for name, table in facts().keywords.items():
        called = name.replace("*", "thing")
        for keyword in table:
            if keyword not in facts().orders.get(name, [])[:1]:  # else it would be passed twice
                lines[f"{name} {keyword}"] = f"y = {called}(a, {keyword}=b, other=c)"
            lines[f"{name} {keyword} alone"] = f"y = {called}({keyword}= b)"
    return lines


def orders() -> dict[str, str]:
    lines = {}
    for name, order in facts().orders.items():
        # TensorFlow's script fails on a fifth argument of these, which is `deterministic`.
        most = 4 if "fractional" in name else len(order)
        table = facts().keywords.get(name, {})
        given_twice = [
            place
            for place, keyword in enumerate(order)
            if keyword
            and (table.get(keyword) or keyword)
            in [table.get(one or "", one) for one in order[:place]]
        ]
        most = min(most, *given_twice) if given_twice else most
        for count in range(most + 1):
            given = ", ".join(f"a{place}" for place in range(count))
            lines[f"{name} {count}"] = f"y = {name}({given})"
    return lines


def issues() -> dict[str, str]:
    wanted = [*facts().reasons, *facts().addons, *facts().modules]
    lines = {n: f"x = {n}" if n.startswith("tf.") else f"x = y.{n[2:]}(z)" for n in wanted}
    for name, arguments in facts().argument_reasons.items():
        for keyword, place, _ in arguments:
            called = name.replace("*", "thing")
            given = ", ".join(f"a{number}" for number in range(place + 1))
            lines[f"{name} {keyword}"] = f"y = {called}(x, {keyword}=z)"
            lines[f"{name} {place}"] = f"y = {called}({given})"
    return lines


LINES = {"all names": names, "all keywords": keywords, "all orders": orders, "all issues": issues}


def whole(lines: dict[str, str]) -> str:
    return "".join(f"{line}\n" for line in (HEAD, *lines.values()))


@pytest.fixture(scope="module")
def theirs(tensorflow_python: str) -> dict[str, Any]:
    """The output of TensorFlow's script for all programs, computed once."""
    programs = {**PROGRAMS, **{name: whole(lines()) for name, lines in LINES.items()}}
    done = subprocess.run(
        [tensorflow_python, str(WORKER)],
        input=json.dumps({"default": programs, "safety": PROGRAMS}),
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "least"), [("all names", 1000), ("all keywords", 300), ("all orders", 500)]
)
def test_every_fact_comes_out_as_tensorflow_writes_it(
    name: str, least: int, theirs: dict[str, Any]
) -> None:
    lines = LINES[name]()
    assert len(lines) > least
    text = upgrade_program(whole(lines)).text
    ast.parse(text)
    answer = theirs["default"][name]
    assert answer["error"] is None
    pairs = zip(answer["text"].splitlines()[1:], text.splitlines()[1:], strict=True)
    found = {line: pair for line, pair in zip(lines, pairs, strict=True) if pair[0] != pair[1]}
    assert found.keys() == DEVIATING_LINES.keys() & lines.keys(), found


@pytest.mark.oracle
def test_the_same_lines_are_left_to_a_person(theirs: dict[str, Any]) -> None:
    lines = list(issues().values())
    found = upgrade_program(whole(issues())).findings
    ours = {one.line for one in found if one.for_a_person}
    differing = sorted(ours ^ set(theirs["default"]["all issues"]["lines"]))
    assert [lines[number - 2] for number in differing] == []


@pytest.mark.oracle
def test_programs_come_out_as_tensorflow_writes_them(theirs: dict[str, Any]) -> None:
    assert len(PROGRAMS) - len(DEVIATIONS) >= 40
    found = {}
    for name, text in PROGRAMS.items():
        ours = upgrade_program(text).text
        ast.parse(ours)
        if ours != theirs["default"][name]["text"]:
            found[name] = (theirs["default"][name]["text"], ours)
    assert {name: pair for name, pair in found.items() if name not in DEVIATIONS} == {}
    assert sorted(found) == sorted(DEVIATIONS), "a deviation that is none any more"


@pytest.mark.oracle
def test_safety_comes_out_as_tensorflow_writes_it(theirs: dict[str, Any]) -> None:
    for name, text in PROGRAMS.items():
        ours = upgrade_program(text, Options(safety=True))
        assert ours.text == theirs["safety"][name]["text"], name
        lines = {one.line for one in ours.findings if one.for_a_person}
        assert lines >= set(theirs["safety"][name]["lines"]), name
