"""The guide's pages under TensorFlow: the same snippets print the same."""

import doctest
import json
import re

import pytest

from architecture.sources import ROOT
from support.loaded_process import run_either

GUIDE = ROOT / "docs" / "guide"
PAGES = ["autodiff", "data", "function", "keras", "mathematics", "random", "tensors", "variables"]
# Intended differences, with the reason.
OTHERWISE = {
    "doubled(": "TensorFlow wants a TensorArray where we grow a list",
    "issubclass(tf.errors": "our errors are Python's errors too",
    "two_heads.dot": "TensorFlow draws with Graphviz and pydot alone",
    "SKLearnRegressor": "scikit-learn is not in TensorFlow's environment",
    "regressor.fit": "likewise",
    "large.kernel.dtype.name": "dtypes of Keras' variables are texts",
    "DenseFeatures": "Keras 3 has no layer for feature columns",
    'features({"age"': "likewise",
    "texts.quantize": "Keras draws a bar for the layers",
    "scipy.sparse": "SciPy is not in TensorFlow's environment",
    "linear.predict(words": "likewise",
    "counter(1)": "tf.print writes past Python's sys.stdout there",
}
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
PROGRAM = """
import doctest, json, pathlib, sys
text = pathlib.Path(sys.argv[1]).read_text()
text = text.replace("import pinnace as tf", "import tensorflow as tf")
test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "page", "page", 0)

class Keeping(doctest.DocTestRunner):
    found = {}

    def report_start(self, out, test, example):
        self.found[example.lineno] = ""

    def report_success(self, out, test, example, got):
        self.found[example.lineno] = got

    report_failure = report_success

    def report_unexpected_exception(self, out, test, example, info):
        self.found[example.lineno] = f"{info[0].__name__}: {info[1]}"

runner = Keeping(verbose=False)
runner.run(test, out=lambda text: None)
pathlib.Path(sys.argv[2]).write_text(json.dumps(runner.found))
"""


@pytest.mark.parametrize("page", PAGES)
def test_tensorflow_prints_the_same(page, tmp_path, tensorflow_python) -> None:
    path, answers = GUIDE / f"{page}.md", tmp_path / "answers.json"
    run_either(PROGRAM, path, answers, python=tensorflow_python)
    theirs = json.loads(answers.read_text())
    examples = doctest.DocTestParser().get_examples(path.read_text())
    assert len(theirs) == len(examples) > 0
    different = [
        f"{path.name}:{example.lineno + 1}: {example.source}ours: {example.want}theirs: {got}"
        for example, got in zip(examples, theirs.values(), strict=True)
        if not same(example, got) and not any(part in example.source for part in OTHERWISE)
    ]
    assert not different, "\n".join(different)


def same(example: doctest.Example, got: str) -> bool:
    """Whether the words are the same, and the numbers to the digits on the page.

    If the page shows an error, there must be one of that class; its message is ours.
    """
    if example.exc_msg is not None:
        kind = example.exc_msg.split(":")[0].split(".")[-1]
        return re.search(rf"^(?:[\w.]+\.)?{kind}: ", got, re.MULTILINE) is not None
    want = example.want.replace("<BLANKLINE>", "")
    ours, theirs = ([float(n) for n in NUMBER.findall(text)] for text in (want, got))
    words = ["".join(NUMBER.sub("#", text).split()) for text in (want, got)]
    # Pages print four digits; sums in another order change the last of float32's seven.
    return words[0] == words[1] and ours == pytest.approx(theirs, rel=1e-3, abs=1e-4)
