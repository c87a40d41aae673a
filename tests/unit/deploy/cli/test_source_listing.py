"""Source listings in `pinnace docs` of the package's files."""

import inspect
import re

import pytest

import pinnace as tf
from pinnace.deploy.cli import source_listing


def test_a_file_of_the_package_is_listed_as_a_built_site_has_it() -> None:
    page = source_listing.installed_listing("source/core/keras/layers/dense.py.html")
    assert page is not None
    lines, first = inspect.getsourcelines(tf.keras.layers.Dense)
    anchors = re.findall(r'id="(L-\d+)"', page.decode())
    assert len(anchors) >= first + len(lines) - 1
    assert anchors[first - 1] == f"L-{first}"
    text = inspect.getsource(inspect.getmodule(tf.keras.layers.Dense) or tf)
    assert page.decode() == source_listing.listing("core/keras/layers/dense.py", text)


@pytest.mark.parametrize(
    "path",
    ["proto/graph.proto", "saved_model/reading.py", "serving/flags.py", "deploy/cli/docs.py"],
)
def test_each_folder_of_the_repository_is_listed(path: str) -> None:
    page = source_listing.installed_listing(f"source/{path}.html")
    assert page is not None
    assert f"<h1>{path}</h1>".encode() in page


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "source/core/keras/layers/dense.py",
        "source/core/keras/layers/gone.py.html",
        "source/core/keras/layers.html",
        "source/core/py.typed.html",
        "source/core.py.html",
        "source/tests/conftest.py.html",
        "source/core/../pyproject.py.html",
        "source/core/../../../../../../../usr/lib/python3/dist-packages/pip/__init__.py.html",
        "source/core//usr/lib/python3/x.py.html",
        "source/core/keras/./layer.py.html",
        "source/core/C:\\x.py.html",
        "source/core/\0.py.html",
    ],
)
def test_nothing_else_is_read(name: str) -> None:
    assert source_listing.installed_listing(name) is None
