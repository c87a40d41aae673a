"""Flags, routes and metrics that images, manifests, boards and alerts use exist in the server.

No program reads these files here: a renamed flag or metric would only be found when they are used.
`make k8s-check` checks the objects of charts and overlays.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from pinnace.framework.errors import CODE_NAMES
from pinnace.serving.command import parse_settings
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.flags import UsageError, flags
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.observing.stuck_runs import StuckRuns
from unit.serving.memory_server import running
from unit.serving.numpy_models import half_plus_two, write_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.serving.models.repository import Repository
    from unit.serving.memory_server import Server

ROOT = Path(__file__).parents[3]
CONTAINERS, KUBERNETES = ROOT / "deploy" / "containers", ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "systemd" / "pinnace.service"
DOCKERFILE = (CONTAINERS / "Dockerfile").read_text()
CHART_DEPLOYMENT = (KUBERNETES / "chart" / "templates" / "deployment.yaml").read_text()
# Variables of Python, of systems, and of the image's own packages.
OTHER_VARIABLES = {"HOME", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "TMPDIR"}
# The labels that Prometheus and its operator add to every series.
TARGET_LABELS = {"instance", "job", "namespace", "service"}


def objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file."""
    return list(yaml.safe_load_all(path.read_text()))


def containers() -> dict[str, dict[str, Any]]:
    """The serving containers, by the file that has them."""
    (deployment,) = objects(KUBERNETES / "base" / "deployment.yaml")
    found = {"base": deployment["spec"]["template"]["spec"]["containers"][0]}
    for runtime in objects(KUBERNETES / "kserve" / "runtimes.yaml"):
        (found[runtime["metadata"]["name"]],) = runtime["spec"]["containers"]
    return found


def unit(key: str) -> list[str]:
    """The values of a key of the systemd unit."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)


def command_lines() -> dict[str, list[str]]:
    """The arguments after `pinnace serve`, by the file that has them."""
    found = {name: container["args"] for name, container in containers().items()}
    found["Dockerfile"] = json.loads(
        re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[1]  # type: ignore[index]
    )
    (compose,) = objects(CONTAINERS / "compose.yaml")
    found["compose"] = compose["services"]["pinnace"]["command"]
    (start,) = unit("ExecStart")
    found["systemd"] = start.split(" serve ")[1].split()
    found["chart"] = re.findall(r"^ +- (--[^\n]+)$", CHART_DEPLOYMENT, re.MULTILINE)
    # Templates stand for a name or a number.
    return {
        name: [re.sub(r"\{\{.*?\}\}", "7", word) for word in words] for name, words in found.items()
    }


@pytest.mark.parametrize("where", command_lines())
def test_command_lines_are_understood_without_a_remark(where: str) -> None:
    words = command_lines()[where]
    assert len(words) >= 2
    _, remarks = parse_settings(words)
    assert remarks == []


@pytest.mark.parametrize("where", command_lines())
def test_each_flag_that_is_misspelt_is_found(where: str) -> None:
    words = command_lines()[where]
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        slip = [*words[:index], f"{name}x{equals}{value}", *words[index + 1 :]]
        with pytest.raises(UsageError, match=f"{name}x"):
            parse_settings(slip)


def test_the_page_names_flags_that_there_are() -> None:
    page = (ROOT / "docs" / "howto" / "containers.md").read_text()
    named = set(re.findall(r"`--([a-z]\w*_\w+)`", page))
    assert len(named) >= 3
    known = {row.split()[0] for _, rows in flags() for row, _ in rows}
    assert {f"--{name}" for name in named} <= known


@pytest.mark.parametrize("where", containers())
def test_ports_of_containers_are_those_that_the_server_takes(where: str) -> None:
    container = containers()[where]
    settings, _ = parse_settings(command_lines()[where])
    taken = {settings.rest_api_port, settings.grpc_port} - {0}
    ports = {port["containerPort"] for port in container["ports"]}
    assert ports <= taken
    names = {port["name"]: port["containerPort"] for port in container["ports"]}
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        for way, probe in container.get(kind, {}).items():
            if way == "grpc":
                assert probe["port"] == settings.grpc_port
            elif way == "httpGet":
                assert names.get(probe["port"], probe["port"]) == settings.rest_api_port
            elif way == "tcpSocket":
                assert probe["port"] in ports


def test_who_stops_a_server_waits_until_it_has_drained() -> None:
    lines = command_lines()
    (deployment,) = objects(KUBERNETES / "base" / "deployment.yaml")
    (compose,) = objects(CONTAINERS / "compose.yaml")
    (stop,) = unit("TimeoutStopSec")
    for where, seconds in {
        "base": deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"],
        "compose": int(compose["services"]["pinnace"]["stop_grace_period"].removesuffix("s")),
        "systemd": int(stop),
    }.items():
        settings, _ = parse_settings(lines[where])
        assert settings.drain_s + settings.drain_timeout_s < seconds, where


def variables() -> dict[str, str]:
    """The environment variables of servers, by the file that has them: name and place."""
    found = dict.fromkeys(re.findall(r"([A-Z_]+)=", " ".join(unit("Environment"))), "systemd")
    block = re.search(r"^ENV (.*?[^\\])$", DOCKERFILE, re.MULTILINE | re.DOTALL)
    assert block is not None
    found |= dict.fromkeys(re.findall(r"(?:^|\s)([A-Z_]+)=", block[1]), "Dockerfile")
    for where, container in containers().items():
        found |= {one["name"]: where for one in container.get("env", [])}
    chart = CHART_DEPLOYMENT[CHART_DEPLOYMENT.index("env:") :]
    found |= dict.fromkeys(re.findall(r"- name: ([A-Z_]+)$", chart, re.MULTILINE), "chart")
    return found


def test_variables_are_read_by_somebody() -> None:
    sources = [
        file.read_text()
        for folder in ("core", "serving", "deploy")
        for file in (ROOT / folder).rglob("*.py")
    ]
    read = {name for text in sources for name in re.findall(r'"(PINNACE_[A-Z_]+)"', text)}
    given = set(variables())
    assert {"PINNACE_CACHE", "TMPDIR", "HOME"} <= given
    assert given <= read | OTHER_VARIABLES


def test_images_have_what_was_built_for_them() -> None:
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM|\Z)", DOCKERFILE, re.M | re.S))
    script = (CONTAINERS / "image.sh").read_text()
    named = re.findall(r"case \$target in ([a-z |]+)\) ;;", script)
    # `onnx` is `slim` with another extra.
    assert {one.strip() for one in named[0].split("|")} == {"slim", "onnx"}
    assert set(stages) == {"build", "slim"}
    assert set(re.findall(r"^COPY --from=(\S+)", stages["slim"], re.MULTILINE)) == {"build"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has answered one request."""
    folder = tmp_path_factory.mktemp("models")
    write_version(folder / "m", 1)
    settings = Settings(models=(ModelConfig("m", str(folder / "m")),), file_system_poll_s=0)
    with running(settings, lambda _: LoadedModel({"serving_default": half_plus_two()})) as one:
        assert one.predict({"instances": [1.0]}).status_code == 200
        # That request ran alone; this adds a run of four rows.
        one.app.state.metrics.meter("m", "predict", "REST").batch_rows.observe(4)
        yield one


def asked_paths() -> set[str]:
    """The paths of probes and Prometheus."""
    found = set(re.findall(r"path: (/[a-z]+)\b", CHART_DEPLOYMENT.split("volumeMounts")[0]))
    for container in containers().values():
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            found |= {container.get(kind, {}).get("httpGet", {}).get("path", "/readyz")}
    (health,) = re.findall(r"'(/\w+)', timeout", DOCKERFILE)
    (monitor,) = objects(KUBERNETES / "components" / "monitoring" / "servicemonitor.yaml")
    found |= {health, monitor["spec"]["endpoints"][0]["path"]}
    for runtime in objects(KUBERNETES / "kserve" / "runtimes.yaml"):
        found.add(runtime["spec"]["annotations"]["prometheus.kserve.io/path"])
    return found


def test_paths_that_are_asked_are_routes(server: Server) -> None:
    paths = asked_paths()
    assert paths >= {"/healthz", "/readyz", "/metrics"}
    assert {path: server.ask("GET", path).status_code for path in paths} == dict.fromkeys(
        paths, 200
    )
    assert server.ask("GET", "/readyy").status_code == 404


def queries() -> dict[str, str]:
    """The queries to Prometheus, by alert or panel."""
    (alerts,) = objects(KUBERNETES / "chart" / "alerts.yaml")
    found = {rule["alert"]: rule["expr"] for rule in alerts["groups"][0]["rules"]}
    board = json.loads((CONTAINERS / "grafana" / "pinnace.json").read_text())
    for panel in board["panels"]:
        for index, target in enumerate(panel.get("targets", [])):
            found[f"{panel['title']} {index}"] = target["expr"]
    (scaled,) = objects(KUBERNETES / "components" / "keda" / "scaledobject.yaml")
    (trigger,) = scaled["spec"]["triggers"]
    found["keda"] = trigger["metadata"]["query"]
    chart = (KUBERNETES / "chart" / "templates" / "autoscaling.yaml").read_text()
    found["chart"] = re.sub(r"\{\{.*?\}\}", "x", re.search(r"query: (.*)$", chart, re.M)[1])  # type: ignore[index]
    return found


def metrics(server: Server) -> dict[str, set[str]]:
    """The series of a server, each with its labels."""
    text = server.ask("GET", "/metrics").text
    # Prometheus' own, and runs that do not end, which healthy servers do not have.
    found = {"up": set[str]()}
    stuck = SimpleNamespace(name="m", version=1, stuck_runs=1)
    for family in StuckRuns(cast("Repository", SimpleNamespace(newest=lambda: [stuck]))).collect():
        found |= {sample.name: set(sample.labels) for sample in family.samples}
    for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE):
        endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        for ending in endings:
            found.setdefault(name + ending, set())
    for name, labels in re.findall(r"^([a-z:_]+)\{(.*)\} ", text, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


@pytest.mark.parametrize("where", queries())
def test_queries_name_series_and_labels_that_there_are(where: str, server: Server) -> None:
    query = queries()[where]
    known = metrics(server)
    named = set(re.findall(r":?\b[a-z_]+(?::[a-z_]+)+|\bup\b", query))
    assert named
    assert named <= set(known)
    used = set(re.findall(r"(\w+)=~?\"", query)) - {"__name__"}
    for group in re.findall(r"\bby \(([^)]*)\)", query):
        used |= set(re.split(r",\s*", group))
    labels = set.union(*(known[name] for name in named))
    assert used - TARGET_LABELS <= labels


def test_a_slip_in_a_series_would_be_found(server: Server) -> None:
    known = metrics(server)
    assert "pinnace:serving:requests_in_flight" in known
    assert "pinnace:serving:requests_inflight" not in known
    assert known["pinnace:serving:requests_in_flight"] == {"model_name"}
    assert known[":tensorflow:serving:request_count"] == {"model_name", "status"}


def test_statuses_that_alert_are_canonical() -> None:
    (statuses,) = re.findall(r'status=~"([A-Z_|]+)"', queries()["PinnaceFails"])
    assert len(statuses.split("|")) == 6
    assert set(statuses.split("|")) <= set(CODE_NAMES.values())


def test_there_is_one_set_of_alerts() -> None:
    """kustomize needs objects and the chart needs the file, so they are written twice."""
    (alerts,) = objects(KUBERNETES / "chart" / "alerts.yaml")
    (rule,) = objects(KUBERNETES / "components" / "monitoring" / "alerts.yaml")
    assert rule["spec"] == alerts


def test_selectors_choose_the_server_alone() -> None:
    """An empty selector selects all pods of a namespace, or none, which no schema forbids."""
    name = {"app.kubernetes.io/name": "pinnace"}
    base = KUBERNETES / "base"
    (budget,) = objects(base / "poddisruptionbudget.yaml")
    (policy,) = objects(base / "networkpolicy.yaml")
    (monitor,) = objects(KUBERNETES / "components" / "monitoring" / "servicemonitor.yaml")
    (pairs,) = objects(base / "kustomization.yaml")[0]["labels"]
    assert budget["spec"]["selector"]["matchLabels"] == name
    assert policy["spec"]["podSelector"]["matchLabels"] == name
    assert monitor["spec"]["selector"]["matchLabels"] == name
    assert (pairs["pairs"], pairs["includeSelectors"]) == (name, True)
