"""Third-party clients call a running server; none of our code is in their processes."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np

from clients.conftest import Server, W

Ask = Callable[..., dict[str, Any]]
X = np.float32([[1, 2], [3, 4]])
Y = (X @ W).tolist()
MANY = [float(k * (X @ W)[0, 0]) for k in range(20)]


def test_triton(server: Server, ask: Ask) -> None:
    found = ask("PINNACE_TRITON_PYTHON", "triton.py", server.http, server.grpc)
    for way in ("http", "grpc"):
        assert found[f"{way} live"]
        assert found[f"{way} ready"]
        assert found[f"{way} model ready"]
        assert not found[f"{way} other ready"]
        assert found[f"{way} infer"] == Y
        assert found[f"{way} version"] == Y
        assert found[f"{way} text"] == ["AB", "é", ""]
        assert found[f"{way} length"] == [2, 2, 0]
        assert found[f"{way} both"] == [[2, 2**41], [0.5, 1.5]]
        assert found[f"{way} many"] == MANY
        sums = [[sign * total] for total in (1, 3, 7, 15) for sign in (1, -1)]
        assert found[f"{way} sequences"] == [sums, True]
        assert "Request for unknown model: 'none' is not found" in found[f"{way} unknown"][1]
        assert "must be float32[?, 2], got float32[1]" in found[f"{way} wrong"][1]
        assert found[f"{way} classes"] == [f"{max(row):f}:{np.argmax(row)}" for row in Y]
        config = found[f"{way} config"]
        assert config["max_batch_size"] > 0
        assert [int(size) for size in config["input"][0]["dims"]] == [2]
        assert config["input"][0]["data_type"] == "TYPE_FP32"
        (row,) = found[f"{way} statistics"]["model_stats"]
        assert (row["name"], row["version"]) == ("m", "3")
        assert 0 < int(row["inference_stats"]["success"]["count"]) <= int(row["inference_count"])
        assert found[f"{way} memory"] == Y
        assert found[f"{way} memory output"]
        assert found[f"{way} memory status"] == [f"{way}_in", f"{way}_out"]
        assert "(8 bytes) should be at least 24 bytes" in found[f"{way} memory short"][1]
        gone = f"Unable to find shared memory region: '{way}_in'"
        assert gone in found[f"{way} memory gone"][1]
        assert "failed to register shared memory region" in found[f"{way} memory long"][1]
    assert found["http override"][0] == "403"  # loading is not allowed here
    assert found["grpc override"][0] == "StatusCode.PERMISSION_DENIED"
    first = float((X @ W)[0, 0])
    unknown = "Request for unknown model: 'none' is not found"
    assert found["grpc stream"] == [["1", first], ["2", 2 * first], unknown, ["4", 4 * first]]
    assert found["http unknown"][0] == "404"
    assert found["http wrong"][0] == "400"
    assert found["grpc unknown"][0] == "StatusCode.NOT_FOUND"
    assert found["http json"] == Y
    assert found["http gzip"] == Y
    assert found["http deflate"] == Y
    assert found["http metadata"]["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
    assert found["grpc metadata"]["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": ["-1", "2"]}
    ]
    assert found["http index"][0]["state"] == "READY"
    assert found["grpc index"]["models"][0]["state"] == "READY"


def test_kserve(server: Server, ask: Ask) -> None:
    found = ask("PINNACE_KSERVE_PYTHON", "kserve_client.py", server.http, server.grpc)
    for name in ("v1 infer", "v2 infer", "v2 binary", "grpc infer"):
        assert found[name] == Y, name
    for name in ("v1 live", "v1 model ready", "v2 live", "v2 ready", "v2 model ready"):
        assert found[name], name
    for name in ("grpc live", "grpc ready", "grpc model ready"):
        assert found[name], name


def test_tensorflow_serving_api(server: Server, ask: Ask) -> None:
    found = ask(
        "PINNACE_TF_PYTHON",
        "serving_api.py",
        server.grpc,
        path=os.environ.get("PINNACE_SERVING_API", ""),
    )
    assert found["predict"] == Y
    assert found["floats"] == np.ravel(Y).tolist()
    assert found["version"] == 3
    assert found["both"] == [[2, 2**41], [0.5, 1.5]]
    rows = [[[name, score] for name, score in zip("abc", row, strict=True)] for row in Y]
    assert found["classify"] == rows
    assert found["regress"] == [3, 7]
    assert found["multi"] == [True, [3, 7]]
    assert found["metadata"] == [1, [-1, 2]]
    assert found["status"] == [[3, 30]]
    assert found["unknown"] == "NOT_FOUND"


def curl(*arguments: str) -> tuple[int, str]:
    program = shutil.which("curl")
    assert program is not None, "curl is missing: apt install curl"
    done = subprocess.run(
        [program, "-s", "-w", "\n%{http_code}", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def test_curl(server: Server) -> None:
    url = f"http://{server.http}/v1/models/m"
    body = json.dumps({"instances": X.tolist()})
    # curl's default content type, that of a form, is accepted.
    expected = json.dumps({"predictions": Y}, separators=(",", ":"))
    assert curl(f"{url}:predict", "-d", body) == (200, expected)
    status, text = curl(f"{url}/versions/3:predict", "-d", body, "-H", "Expect: 100-continue")
    assert (status, json.loads(text)["predictions"]) == (200, Y)
    status, text = curl(f"{url}:predict", "-d", body, "-H", "Transfer-Encoding: chunked")
    assert (status, json.loads(text)["predictions"]) == (200, Y)
    status, text = curl("--http1.0", f"{url}:predict", "-d", body)
    assert (status, json.loads(text)["predictions"]) == (200, Y)
    status, text = curl(url)
    assert json.loads(text)["model_version_status"][0]["state"] == "AVAILABLE"
    status, text = curl(f"{url}:predict", "-d", '{"instances": [')
    assert status == 400
    assert "JSON Parse error" in json.loads(text)["error"]
    examples = json.dumps({"signature_name": "regress", "examples": [{"x": [1.0, 2.0]}]})
    assert curl(f"{url}:regress", "-d", examples) == (200, '{"results":[3.0]}')
