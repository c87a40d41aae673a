"""Upgraded programs of TensorFlow 1 are valid, stable under a second upgrade, and reported."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinnace.deploy.upgrade import Level, Options, upgrade_program
from pinnace.deploy.upgrade.facts import facts
from pinnace.deploy.upgrade.findings import advice
from pinnace.deploy.upgrade.rewriting import WAYS
from support.version_1_programs import PROGRAMS

HEAD = "import tensorflow as tf\n"


def upgraded(line: str, head: str = HEAD, **options: object) -> str:
    """One line after the upgrade."""
    text = upgrade_program(head + line, Options(**options)).text  # type: ignore[arg-type]
    return text.removeprefix(head)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("options", [Options(), Options(safety=True), Options(module="pinnace")])
def test_what_comes_out_compiles_and_comes_out_of_itself(name: str, options: Options) -> None:
    found = upgrade_program(PROGRAMS[name], options)
    assert found.read
    ast.parse(found.text)
    assert upgrade_program(found.text, options).text == found.text
    if options == Options():  # comments and ends of lines stay
        assert comments(found.text) == comments(PROGRAMS[name])
        assert found.text.count("\r\n") == PROGRAMS[name].count("\r\n")


def comments(text: str) -> list[str]:
    lines = io.StringIO(text, newline="").readline
    return [one.string for one in tokenize.generate_tokens(lines) if one.type == tokenize.COMMENT]


def test_every_reason_and_way_of_the_facts_is_known() -> None:
    reasons = {reason for _, reason in [*facts().reasons.values(), *facts().modules.values()]}
    assert reasons <= set(advice())
    assert {way.way for way in facts().ways.values()} == set(WAYS)
    for told in advice().values():
        assert set(told) <= {"why", "do"}
        assert told["why"]


CALLS = st.sampled_from(sorted({*facts().keywords, *facts().orders, *facts().ways}))
SPACES = st.sampled_from(["", " ", "  ", "\n    ", "  # why\n    ", "\n\n    # alone\n    "])
VALUES = st.sampled_from(
    ["x", "1", "'a'", "None", "True", "False", "(y for y in z)", "a if b else c", "lambda: 0",
     "[1, 2]", "f(x)", "tf.log(x)", "tf.to_float(x)", "(yield)", "-x", "not x"]
)  # fmt: skip


@st.composite
def drawn_programs(draw: st.DrawFn) -> str:
    """A call with any arguments, in any formatting."""
    name = draw(CALLS)
    table = facts()
    keywords = sorted(
        {
            *table.keywords.get(name, {}),
            *filter(None, table.orders.get(name, [])),
            *([table.ways[name].argument] if name in table.ways else []),
            *("keep_prob", "name", "default_name", "labels", "result_type", "uniform", "scope"),
        }
        - {""}
    )
    places = draw(st.lists(VALUES, max_size=6))
    # Python refuses an argument that is given by position and by keyword.
    keywords = [one for one in keywords if one not in table.orders.get(name, [])[: len(places)]]
    named = draw(st.lists(st.sampled_from(keywords), max_size=3, unique=True))
    args = [
        *places,
        *(f"{key}{draw(st.sampled_from(['=', ' = ']))}{draw(VALUES)}" for key in named),
    ]
    args += draw(st.sampled_from([[], [], [], ["*rest"], ["**options"]]))
    space = draw(SPACES)
    inside = "".join(f"{space}{arg}," for arg in args)
    inside = inside if draw(st.booleans()) else inside.removesuffix(",")
    end = draw(st.sampled_from(["", "\n", "  # end\n"])) if args else ""
    called = name.replace("*", "thing")
    return f"{HEAD}def g(x):\n  y = {called}({inside}{end})\n"


@example(f"{HEAD}def g(x):\n  y = tf.cond(x,x,x,x,x,x,fn1=x)\n")
@example(f"{HEAD}def g(x):\n  y = tf.image.extract_glimpse(x,x,x,x,x,x)\n")
@given(drawn_programs())
def test_calls_in_any_formatting_come_out_whole(text: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError:
        return  # invalid: `f(*rest, x)` after keywords
    found = upgrade_program(text)
    assert found.read
    assert not [one for one in found.findings if "no Python" in one.what]
    ast.parse(found.text)
    assert set(comments(found.text)) == set(comments(text))
    assert upgrade_program(found.text).text == found.text


@given(st.sampled_from(sorted(PROGRAMS)), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_program_without_names_of_version_1_stays_as_it_is(
    name: str, end: str, space: bool
) -> None:
    text = PROGRAMS[name].replace("tensorflow", "torch").replace("\r\n", "\n")
    text = (
        text.replace(".make_", ".take_")
        .replace(".minimize", ".least")
        .replace(".compute_gradients", ".slopes")
    )
    text = text.replace("\n", f" {end}" if space and "\\" not in text else end)
    if name == "nothing_imported":
        text = f"import torch as tf{end}{text}"
    assert upgrade_program(text).text == text


def test_calls_in_lines_of_their_own_keep_their_lines() -> None:
    text = "y = tf.image.resize_area(\n    x,\n    [2, 2],\n    align_corners=True,  # why\n)\n"
    assert upgraded(text) == (
        "y = tf.image.resize(\n    x,\n    [2, 2],\n"
        "    method=tf.image.ResizeMethod.AREA,  # why\n)\n"
    )


def test_a_root_is_imported_where_a_new_name_needs_one() -> None:
    head = '"""Doc."""\nfrom tensorflow import keras\nimport os\n'
    assert upgrade_program(f"{head}i = keras.initializers.zeros()\n").text == (
        f"{head}import tensorflow as tf\ni = tf.compat.v1.keras.initializers.zeros()\n"
    )


def test_what_needs_tf_where_tf_is_something_else_is_left_and_told() -> None:
    text = "from tensorflow import keras\ntf = 1\ni = keras.initializers.zeros()\n"
    found = upgrade_program(text)
    assert found.text == text
    (told,) = [one for one in found.findings if one.for_a_person]
    assert (told.line, told.level) == (3, Level.ERROR)
    assert "Import tensorflow under another name" in told.remedy


def test_another_package_is_imported_in_tensorflows_place() -> None:
    text = (
        "import tensorflow as tf\nimport tensorflow.keras as K\nimport tensorflow\n"
        "from tensorflow.python.ops import x\nfrom tensorflow import nn, log\n"
        "import tensorflow.compat.v1 as tf1\n"
    )
    assert upgrade_program(text, Options(module="pinnace")).text == (
        "import pinnace as tf\nimport pinnace.keras as K\nimport pinnace as tensorflow\n"
        "from tensorflow.python.ops import x\nfrom pinnace import nn\n"
        "from pinnace.compat.v1 import log\nimport pinnace.compat.v1 as tf1\n"
    )


def test_names_that_the_other_package_lacks_are_told() -> None:
    text = HEAD + "a = tf.math.log(1.0)\nb = tf.tpu.experimental('m')\n"
    found = upgrade_program(text, Options(module="pinnace"))
    (told,) = found.findings[1:]
    assert (told.line, told.level) == (3, Level.WARNING)
    assert told.what == "pinnace.tpu.experimental does not exist."
    assert "tf.tpu" in told.why


def test_version_1_under_its_own_name_stays() -> None:
    text = "import tensorflow.compat.v1 as tf\nx = tf.log(1)\n"
    assert upgraded("x = tf.log(1)\n", "import tensorflow.compat.v1 as tf\n",
                    upgrade_version_1_imports=False) == "x = tf.log(1)\n"  # fmt: skip
    assert upgrade_program(text).text == "import tensorflow as tf\nx = tf.math.log(1)\n"
    assert (
        upgraded("x = tf1.log(1)\n", "import tensorflow.compat.v1 as tf1\n") == "x = tf1.log(1)\n"
    )
    assert upgraded("x = tf.compat.v1.log(1)\n") == "x = tf.compat.v1.log(1)\n"


def test_findings_say_where_what_why_and_what_to_do() -> None:
    found = upgrade_program(HEAD + "\nc = tf.contrib.rnn.GridLSTMCell(3)\n").findings
    (told,) = found
    assert (told.line, told.column, told.level) == (3, 4, Level.WARNING)
    assert told.text() == (
        "3:4: WARNING: tf.contrib.rnn.GridLSTMCell is used. Why: contrib is gone; cells of "
        "recurrent networks are layers of Keras now. What to do: Use tf.keras.layers.LSTMCell, "
        "GRUCell, SimpleRNNCell and RNN, or TensorFlow Addons."
    )


def test_python_2_is_told_with_its_line_and_left() -> None:
    text = HEAD + 'print "loss", tf.log(x)\n'
    found = upgrade_program(text)
    assert found.text == text
    assert not found.read
    (told,) = found.findings
    assert (told.line, told.level) == (2, Level.ERROR)
    assert "2to3" in told.remedy


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.nn.dropout(x, k, s)", "tf.nn.dropout(x, rate=1 - (k), noise_shape=s)"),
        ("tf.to_float(v for v in w)", "tf.cast((v for v in w), dtype=tf.float32)"),
        ("tf.shape(x, (n := 'a'))", "tf.shape(x, name=(n := 'a'))"),
        ("tf.batch_to_space_nd(x, b, c)", "tf.compat.v1.batch_to_space_nd(x, b, c)"),
        ("tf.arg_max(x, 1)", "tf.argmax(x, 1)"),
        ("tf.nn.max_pool_v2", "tf.compat.v1.nn.max_pool_v2"),
        ("(tf.log)(x)", "(tf.math.log)(x)"),
        ("tf.log", "tf.math.log"),
    ],
)
def test_calls_of_special_kinds(before: str, after: str) -> None:
    assert upgraded(f"y = {before}\n") == f"y = {after}\n"
