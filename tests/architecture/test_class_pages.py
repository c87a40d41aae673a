"""Each public class has a page with shapes, its source and an example, which runs."""

import json
import re
import subprocess
import sys

import pytest

from architecture.sources import ROOT

# Layers whose example has no tensors called x and y as inputs or outputs.
OTHER_NAMES = {"DenseFeatures", "InputLayer", "GRUCell", "LSTMCell", "SimpleRNNCell"}
PROGRAM = """
import inspect, json, sys
sys.path.insert(0, sys.argv[1])
import api_reference, source_pages
import pinnace as tf
told = {}
for entry in api_reference.Reference().classes.entries:
    place = source_pages.place(entry.value)
    told[entry.name] = {
        "place": [place.path, place.line] if place else None,
        "class": entry.value.__name__,
        "layer": issubclass(entry.value, tf.keras.Layer),
        "doc": inspect.getdoc(entry.value) or "",
    }
json.dump(told, sys.stdout)
"""


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def classes() -> dict[str, dict[str, object]]:
    """In a separate process, so that classes of other tests are not included."""
    command = [sys.executable, "-c", PROGRAM, ROOT / "tools"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def test_every_class_has_an_example_or_a_reason_and_every_example_a_class(classes) -> None:
    import class_examples

    shown, refused = class_examples.examples()
    assert len(classes) > 500
    assert set(classes) - set(shown) - set(refused) == set(), "docs/examples: no example"
    assert set(shown) | set(refused) <= set(classes), "docs/examples: no such class"
    assert set(refused) == {
        "tf.distribute.MultiWorkerMirroredStrategy",  # needs several processes
        "tf.keras.callbacks.ProgbarLogger",  # prints times
    }


def test_every_example_runs_and_prints_the_same_on_every_machine(classes) -> None:
    import class_examples

    runs = class_examples.results()
    assert set(runs) <= set(classes)
    raised = [f"{name}\n{run.fault}" for name, run in runs.items() if run.fault]
    assert not raised, "\n".join(raised)
    silent = [name for name, run in runs.items() if not any(out for _, out in run.steps)]
    assert not silent, "these print nothing"
    addresses = [name for name, run in runs.items() if class_examples.ADDRESS.search(run.session())]
    assert not addresses, "these print where something lies in memory"
    layers = {name for name in classes if name.startswith("tf.keras.layers.")}
    shapeless = {
        name.rpartition(".")[2] for name in layers if not {"x", "y"} <= set(runs[name].shapes)
    }
    assert shapeless <= OTHER_NAMES


def test_every_layer_says_what_shapes_it_takes_and_gives(classes) -> None:
    """Classes of `tf.keras` itself are bases of layers, and take anything."""
    silent = []
    for name, told in classes.items():
        if told["layer"] and not re.fullmatch(r"tf\.keras\.\w+", name):
            section = re.search(r"^Shapes:\n((?:    .*\n?)+)", f"{told['doc']}\n", re.MULTILINE)
            if not section or "→" not in section[1]:
                silent.append(name)
    assert not silent, "no `Shapes:` with input → output"


def test_the_link_to_the_source_of_a_class_leads_to_its_line(classes) -> None:
    without = {name for name, told in classes.items() if told["place"] is None}
    assert {name.rpartition(".")[0] for name in without} == {"tf.experimental.numpy"}
    for name, told in classes.items():
        if told["place"]:
            path, line = told["place"]
            text = (ROOT / path).read_text().splitlines()[line - 1]
            said = rf"@|(class |message )?{told['class']}\b"
            assert re.match(said, text), (name, path, line)


def test_a_row_fits_its_form_and_a_class_is_there_once(tmp_path) -> None:
    import class_examples

    table = 'namespace = "tf"\n[a]\nform = "$name($1)\\n$2"\nX = ["1", "x"]\n[b]\nY = "tf.Y()"\n'
    (tmp_path / "a.toml").write_text(table)
    shown, refused = class_examples.examples(tmp_path)
    assert shown == {"tf.X": "tf.X(1)\nx", "tf.Y": "tf.Y()"}
    assert refused == {}
    (tmp_path / "a.toml").write_text(table.replace('["1", "x"]', '"1"'))
    with pytest.raises(class_examples.ExamplesError, match=r"tf\.X: its form has 2 places, its ro"):
        class_examples.examples(tmp_path)
    (tmp_path / "a.toml").write_text(f'{table}[not_run]\nX = "why"\n')
    with pytest.raises(class_examples.ExamplesError, match=r"a\.toml: tf\.X is there twice"):
        class_examples.examples(tmp_path)


def test_an_example_prints_as_at_the_prompt_and_a_fault_is_kept() -> None:
    import class_examples

    run = class_examples.run("tf.X", "def f(x):\n    return x\n\n# Why.\nf(2)\nx = tf.ones([2, 3])")
    lines = [">>> def f(x):", "...     return x", ">>> # Why.", ">>> f(2)", "2"]
    assert run.session().splitlines() == [*lines, ">>> x = tf.ones([2, 3])"]
    assert run.shapes == {"x": "[2, 3]"}
    assert "ZeroDivisionError" in class_examples.run("tf.X", "1 / 0").fault
    warned = "import warnings\nwarnings.warn('told', UserWarning)"
    assert "UserWarning: told" in class_examples.run("tf.X", warned).fault
    shown = class_examples.run("tf.X", f"{warned}  # warns")
    assert (shown.fault, shown.steps[-1][1]) == ("", "UserWarning: told\n")
    assert "and no warning" in class_examples.run("tf.X", "1  # warns").fault


def test_a_listing_has_an_anchor_at_each_line_and_asks_no_host(tmp_path) -> None:
    import site_checks
    import source_pages

    path = "core/keras/layers/dense.py"
    page = tmp_path / "dense.html"
    page.write_text(source_pages.listing(path, "x = '<b>'\n\n\ny = 2\n"))
    assert re.findall(r'id="(L-\d)"', page.read_text()) == ["L-1", "L-2", "L-3", "L-4"]
    assert "&lt;b&gt;" in page.read_text()
    assert 'href="../../../../api/index.html"' in page.read_text()
    assert site_checks.foreign(tmp_path) == []
