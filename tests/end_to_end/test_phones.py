"""examples/android and examples/ios: their commands run, and their sources fit the model."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

import pinnace as tf
from architecture.sources import ROOT
from support.command_line import pinnace

ANDROID = ROOT / "examples" / "android"
IOS = ROOT / "examples" / "ios"
KOTLIN = ANDROID / "app" / "src" / "main" / "java" / "org" / "pinnace" / "digits" / "Digits.kt"
SWIFT = IOS / "Digits" / "Digits.swift"
BUILT = {"android": KOTLIN, "ios": SWIFT}


def demo() -> ModuleType:
    """The program of `make demo`."""
    spec = importlib.util.spec_from_file_location(
        "digits_demo", ROOT / "examples" / "digits_demo.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `make demo` has run, as far as the exports see it."""
    folder = tmp_path_factory.mktemp("clone")
    tf.saved_model.save(demo().build_model(), folder / "models" / "digits" / "1")
    return folder


def exports(phone: str) -> list[str]:
    text = (ROOT / "examples" / phone / "README.md").read_text()
    return re.findall(r"^pinnace export .*$", text, re.MULTILINE)


def exported(phone: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the page's command writes."""
    (command,) = exports(phone)
    words = shlex.split(command)[1:]
    target = root / words[2]
    target.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(root)
    answer = pinnace(*words)
    assert answer.code == 0, answer.err
    return target


def constants(source: Path) -> dict[str, object]:
    """Names, sizes and values of the model that a source states, in lower case."""
    pattern = r'^\s*(?:static let|const val) (\w+)(?:: \w+)? = ("[^"]+"|[\d.]+)f?\s*$'
    found = re.findall(pattern, source.read_text(), re.MULTILINE)
    return {
        name.lower(): value.strip('"') if value.startswith('"') else float(value)
        for name, value in found
    }


@pytest.mark.parametrize("phone", BUILT)
def test_the_source_has_the_models_names_and_sizes(
    phone: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    file = exported(phone, root, monkeypatch)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (given,), (made,) = session.get_inputs(), session.get_outputs()
    told = constants(BUILT[phone])
    assert told["input"] == given.name
    assert told["output"] == made.name
    assert [told["side"], told["side"], told["channels"]] == given.shape[1:]
    assert [told["classes"]] == made.shape[1:]
    assert given.type == made.type == "tensor(float)"
    images, _ = demo().load_data()[0]
    assert told["white"] == images.max()


@pytest.mark.parametrize("phone", BUILT)
def test_the_file_goes_where_the_app_looks_for_it(phone: str) -> None:
    (command,) = exports(phone)
    target = shlex.split(command)[3]
    if phone == "android":
        assert target == "examples/android/app/src/main/assets/digits.onnx"
        assert '"digits.onnx"' in (KOTLIN.parent / "MainActivity.kt").read_text()
    else:
        assert target == "examples/ios/Digits/digits.onnx"
        assert 'forResource: "digits", ofType: "onnx"' in SWIFT.read_text()
        assert "path: Digits/digits.onnx" in (IOS / "project.yml").read_text()


@pytest.mark.parametrize("phone", BUILT)
def test_the_pages_say_that_nothing_was_built(phone: str) -> None:
    text = " ".join((ROOT / "examples" / phone / "README.md").read_text().split())
    assert "not built here" in text


@pytest.mark.parametrize("source", sorted([*ANDROID.rglob("*.kt"), *IOS.rglob("*.swift")]))
def test_brackets_are_closed(source: Path) -> None:
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"|/\*.*?\*/', "", source.read_text(), flags=re.DOTALL)
    for first, last in ("()", "[]", "{}"):
        assert text.count(first) == text.count(last), (source.name, first)
