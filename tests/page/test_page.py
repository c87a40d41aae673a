"""The page in a real browser: it loads, sends requests and shows results, without the internet."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest

from page.conftest import EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from page.conftest import Server

    Browse = Callable[..., dict[str, Any]]


def run(command: str) -> Any:
    """The output of a command line that the page shows, run in a shell."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_drawn_digit_is_answered(browse: Browse, server: Server, tmp_path: Path) -> None:
    seen = browse("drawing", server, str(tmp_path / "page.png"))
    assert seen["first command"] in server.printed
    shares = {label: float(text.split()[0]) for label, text in seen["bars"].items()}
    assert list(shares) == [str(digit) for digit in range(10)]
    assert sum(shares.values()) == pytest.approx(100, abs=1)
    assert max(shares, key=lambda label: shares[label]) == seen["answer"] == "7"
    (row,) = run(seen["command"])["predictions"]
    np.testing.assert_allclose([100 * x for x in row], list(shares.values()), atol=0.06)
    assert int(seen["requests counted"].split()[0]) >= 4
    assert seen["stages"].count("s") >= 5
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_nothing_is_wider_than_a_phone(browse: Browse, server: Server) -> None:
    widths = browse("phone", server)["widths"]
    assert len(widths) == 5
    assert set(widths.values()) == {360}


def test_a_keyboard_is_enough(browse: Browse, server: Server) -> None:
    seen = browse("keyboard", server)
    assert seen["outline"] != "none"
    body = json.loads(shlex.split(seen["command"])[-1])
    image = np.array(body["instances"])[0, :, :, 0]
    expected = np.zeros([8, 8])
    expected[[3, 2], 4] = 16
    np.testing.assert_array_equal(image, expected)
    assert len(seen["bars"]) == 10
    assert seen["in the text"] == "TEXTAREA"
    assert "JSON" in seen["problem"]


def test_every_kind_of_input(browse: Browse, server: Server, tmp_path: Path) -> None:
    from PIL import Image

    picture = np.full([280, 280], 255, np.uint8)
    picture[:40, :40] = 0
    Image.fromarray(picture).save(tmp_path / "x.png")
    seen = browse("forms", server, str(tmp_path / "x.png"))
    assert seen["total"] == "-3.5"
    assert seen["upper"] == "IT'S “NEW”"
    assert run(seen["command"]) == {"predictions": ["IT'S “NEW”"]}
    assert seen["example"].endswith("-d @request.json")
    assert seen["saved"]["signature_name"] == "negative"
    np.testing.assert_array_equal(np.float32(seen["saved"]["instances"][0]), EXAMPLE)
    assert seen["dark"] == [0, 0, 0, 255]
    assert seen["bright"] == [255, 255, 255, 255]
    assert "HTTP 400" in seen["refused"]
    assert "is not of expected type: string" in seen["refused"]


def test_strings_are_typed_or_read_from_a_file(
    browse: Browse, server: Server, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 3
    (tmp_path / "some.bin").write_bytes(content)
    with (tmp_path / "large.bin").open("wb") as large:
        large.truncate(17 * 2**20)
    files = [str(tmp_path / name) for name in ("some.bin", "large.bin")]
    seen = browse("texts", server, *files, str(tmp_path))
    body = json.loads(shlex.split(seen["typed"])[-1])
    assert body == {"signature_name": "column", "instances": [["red"]]}
    assert seen["shouted"] == "RED"
    assert seen["too large"] == "large.bin has 17 MiB; at most 16 MiB can be sent"
    (row,) = json.loads(shlex.split(seen["command"])[-1])["instances"]
    assert base64.b64decode(row["b64"], validate=True) == content
    assert seen["length"] == str(len(content))
    (row,) = json.loads(shlex.split(seen["typed instead"])[-1])["instances"]
    assert row == "abc"


def test_labels_stand_beside_their_versions(
    browse: Browse, labelled: Server, tmp_path: Path
) -> None:
    seen = browse("labels", labelled, str(tmp_path / "labels.png"))
    newest, oldest = (" ".join(text.split()) for text in seen["versions"])
    assert (newest, oldest) == ("version 2: AVAILABLE canary", "version 1: AVAILABLE stable")
    assert seen["choice"] == ["2 (canary)", "1 (stable)"]


def test_charts_begin_with_what_was_before_the_visit(
    browse: Browse, server: Server, tmp_path: Path
) -> None:
    body = {"instances": [{"a": [1, 2], "turned": False}] * 4}
    deadline = time.monotonic() + 30
    points: list[list[float]] = []
    with httpx.Client(base_url=server.url) as client:
        while sum(point[1] > 0 for point in points) < 3:
            assert time.monotonic() < deadline
            assert client.post("/v1/models/kinds:predict", json=body).status_code == 200
            points = client.get("/page/history?model=kinds").json()["points"]
    seen = browse("history", server, str(tmp_path / "history.png"))
    assert seen["at once"].count("L") >= 3
    highest = max(point[1] for point in points)
    shown = float(seen["highest"].removeprefix("highest "))
    assert shown >= round(highest, 1) * 0.95
    assert [text[-2:] for text in seen["rate"][:2]] == ["/s", "/s"]
    assert {text[-2:] for text in seen["latency"][:2]} <= {"µs", "ms", " s"}
    assert seen["rate"][2] == seen["latency"][2] == seen["rows"][2] == "0"
    assert float(seen["rows"][0]) >= 4
    assert [text[0] for text in seen["times"]] == ["−", "−", "n"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_contrast_and_structure(browse: Browse, server: Server, scheme: str) -> None:
    assert browse("audit", server, scheme)["problems"] == {
        "/#digits": [],
        "/#kinds": [],
        "/docs": [],
    }


def test_a_key_is_asked_for(browse: Browse, guarded: Server) -> None:
    seen = browse("keys", guarded)
    assert len(seen["bars"]) == 10
    assert len(run("KEY=opensesame; " + seen["command"])["predictions"]) == 1
    assert "opensesame" not in seen["command"]
    assert seen["graph"] == "<!doctype html>"


def test_a_version_that_fails_is_shown_with_its_reason(browse: Browse, server: Server) -> None:
    seen = browse("changes", server, str(server.kinds))
    assert "DATA_LOSS" in seen["versions"]
    assert "version 1: AVAILABLE" in seen["versions"]
    assert seen["typed"] == "1.5"


def test_a_shadow_is_shown_and_never_asked(browse: Browse, shadowed: Server) -> None:
    seen = browse("shadow", shadowed)
    assert "version 2: AVAILABLE shadow: gets 100 % of the requests" in seen["before"]
    assert "1 same" in seen["after"]
    assert "largest difference 0" in seen["after"]
    assert "largest difference" not in seen["before"]


def test_the_description_is_read_and_tried(browse: Browse, server: Server) -> None:
    seen = browse("docs", server)
    paths = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    assert {"/v1/models/digits:predict", "/v2/models/kinds/infer"} <= set(paths)
    assert set(seen["operations"]) == set(paths)
    assert seen["answer"].startswith('HTTP 200\n{"predictions":')


def test_the_graph_is_a_picture(browse: Browse, server: Server) -> None:
    assert "digits" in browse("graph", server)["title"]
