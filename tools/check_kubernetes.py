"""`make k8s-check`: the image, the manifests, the chart and KServe's objects, checked offline.

Every tool comes from a package: hadolint, checkov, kubernetes-validate and KServe's client from
PyPI; helm, kubectl and the types of KEDA and of the Prometheus operator from npm; promtool,
shellcheck and systemd-analyze from Debian. No cluster is needed. A missing tool is reported as `not
run`, and its checks are then missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from cluster_objects import board_queries, mismatched, misunderstood, queries

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
CONTAINERS = ROOT / "deploy" / "containers"
KUBERNETES = ROOT / "deploy" / "kubernetes"
CHART = KUBERNETES / "chart"
KSERVE = "serving.kserve.io"
# Kinds that are not Kubernetes' own: where npm's package has their types.
TYPES = {
    "ScaledObject": "@kubernetes-models/keda/keda.sh/v1alpha1",
    "ServiceMonitor": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
    "PrometheusRule": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
}
# Values with which every branch of the chart is taken.
CHARTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "keda": {
        "autoscaling": {"kind": "keda"},
        "monitoring": {"serviceMonitor": True, "alerts": True, "labels": {"release": "p"}},
        "networkPolicy": {"egress": [{"ports": [{"protocol": "TCP", "port": 443}]}]},
        "args": ["--workers=2", "--kserve_status"],
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/a"}},
    },
    "secured": {
        "image": {"repository": "registry.example/team/pinnace"},
        "envFrom": [{"configMapRef": {"name": "bucket-settings"}}],
        "extraVolumes": [{"name": "words", "configMap": {"name": "words"}}],
        "extraVolumeMounts": [{"name": "words", "mountPath": "/words", "readOnly": True}],
        "apiKeys": {"secret": "keys"},
        "tls": {"secret": "certificate", "clientCa": True},
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "annotations": {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"},
            "hosts": ["models.example"],
            "tlsSecret": "outside",
        },
    },
    "certified": {"tls": {"secret": "certificate"}},
    "bare": {
        "autoscaling": {"kind": "none"},
        "networkPolicy": {"enabled": False},
        "models": {"a": "/models/a", "b": "s3://bucket/b"},
        # Helm merges values: what is not wanted is to be named.
        "modelVolume": {"persistentVolumeClaim": None, "emptyDir": {}},
        "initContainers": [
            {
                "name": "fetch",
                "image": "registry.example/fetch:1",
                "volumeMounts": [{"name": "models", "mountPath": "/models"}],
            }
        ],
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [{"operator": "Exists"}],
        "podLabels": {"team": "a"},
        "podAnnotations": {"a": "b"},
    },
}
# What the schema of the values refuses, and a word of what is said.
REFUSED = {
    "autoscaling.kind=magic": "autoscaling",
    "image.tagg=slim": "tagg",
    "drainSeconds=-1": "drainSeconds",
    "monitoring.alert=true": "alert",
    "args={workers=2}": "args",
    "ingress.enabled=true": "hosts",
    "extraVolumeMounts[0].name=a": "mountPath",
    "tls.cert=a": "cert",
}
# An image's digest and how it is pulled are for those who have a registry; the base of the image is
# an argument, whose default has a tag.
CHECKOV_SKIPPED = "CKV_K8S_15,CKV_K8S_43,CKV_DOCKER_7"
_UNKNOWN = "Couldn't find schema"


class Checks:
    """Runs what checks, and remembers what failed and what could not be run.

    Args:
        given: folders of tools: `tools`, `checkov`, `kube`, `debian`; and `kserve`, a checkout.
        folder: for files that tools read.
    """

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.folder = folder
        self.failed: list[str] = []
        self.missing: set[str] = set()
        self.python = str(given.tools / "python")
        self.hadolint = str(given.tools / "hadolint")
        self.checkov = str(given.checkov / "checkov")
        self.helm = str(given.kube / "helm" / "helm")
        self.kubectl = str(given.kube / "kubectl" / "kubectl")
        self.node = given.kube / "node_modules"
        self.kserve: Path | None = given.kserve
        debian = given.debian / "usr" / "bin"
        self.debian = {
            name: str(debian / name) if (debian / name).exists() else shutil.which(name)
            for name in ("promtool", "shellcheck", "systemd-analyze")
        }
        # What tools of Debian load, where they were unpacked and not installed.
        self.libraries = ":".join(
            str(path.parent) for path in sorted(given.debian.rglob("libsystemd-shared-*.so"))
        )

    def run(self, name: str, *command: str, fails: bool = False, needs: str = "") -> str:
        """The output of a command, which is to end well, or not; a line says whether it did."""
        environment = {**os.environ, "HELM_CACHE_HOME": tempfile.gettempdir(), "CI": "1"}
        if self.libraries and "systemd" in command[0]:
            environment["LD_LIBRARY_PATH"] = self.libraries
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
        )
        said = done.stdout + done.stderr
        # A tool that broke checked nothing; nor is anything of a kind without a schema, a warning.
        checked = _UNKNOWN not in said and "Traceback" not in said
        good = (done.returncode != 0) is fails and needs in said and checked
        self._tell(name, good, said)
        return done.stdout

    def run_debian(self, tool: str, name: str, *arguments: str, **options: Any) -> None:
        """The same for a tool of Debian, if it is there."""
        found = self.debian[tool]
        if found is None:
            self.not_run(name, f"there is no {tool}")
        else:
            self.run(name, found, *arguments, **options)

    def compare(self, name: str, problems: list[str], *, fails: bool = False) -> None:
        """A check of our own: there must be no problems, or some."""
        self._tell(name, bool(problems) is fails, "\n".join(problems) or "nothing was found")

    def not_run(self, name: str, reason: str) -> None:
        """Say of a check that it was not made."""
        print(f"{'not run':9}{name}: {reason}", flush=True)
        self.missing.add(name)

    def _tell(self, name: str, good: bool, said: str) -> None:
        print(f"{'ok' if good else 'FAILED':9}{name}", flush=True)
        if not good:
            self.failed.append(name)
            print(said[-6000:])

    def file(self, name: str, objects: list[Any]) -> str:
        """A file with objects."""
        path = self.folder / name
        path.write_text(yaml.safe_dump_all(objects, sort_keys=False))
        return str(path)

    def native(self, name: str, objects: list[Any], **options: Any) -> None:
        """Kubernetes' own kinds, by their schemas; a field that is not there is an error."""
        ours = [one for one in objects if one["kind"] not in TYPES and KSERVE not in _api(one)]
        if ours:
            file = self.file("native.yaml", ours)
            command = (self.python, "-m", "kubernetes_validate", "--strict", file)
            self.run(f"{name}: Kubernetes' schema", *command, **options)

    def typed(self, name: str, objects: list[Any], **options: Any) -> None:
        """Objects of KEDA and of the Prometheus operator, as TypeScript that must compile."""
        ours = [one for one in objects if one["kind"] in TYPES]
        if not ours:
            return
        lines = []
        for index, one in enumerate(ours):
            kind = one["kind"]
            lines += [
                f'import type {{ I{kind} as T{index} }} from "{TYPES[kind]}";',
                f"export const x{index}: T{index} = {json.dumps(one)};",
            ]
        # Beside the packages: imports are looked for from the file's folder up.
        file = self.node.parent / f"objects-{os.getpid()}.ts"
        file.write_text("\n".join(lines))
        flags = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022")
        modules = ("--module", "nodenext", "--moduleResolution", "nodenext")
        compiler = str(self.node / ".bin" / "tsc")
        kinds = ", ".join(sorted({one["kind"] for one in ours}))
        try:
            self.run(f"{name}: types of {kinds}", compiler, *flags, *modules, str(file), **options)
        finally:
            file.unlink()

    def kserve_objects(self, name: str, objects: list[Any], **options: Any) -> None:
        """KServe's objects, by its client, and by the schemas of a cluster if they are there."""
        ours = [one for one in objects if KSERVE in _api(one)]
        if not ours:
            return
        command = [self.python, str(ROOT / "tools" / "kserve_objects.py")]
        title = f"{name}: KServe's client"
        if self.kserve is not None:
            command += ["--crds", str(self._definitions(self.kserve))]
            title += " and CRDs"
        self.run(title, *command, self.file("kserve.yaml", ours), **options)

    def _definitions(self, kserve: Path) -> Path:
        """A folder with KServe's CustomResourceDefinitions, which its chart has as templates."""
        folder = self.folder / "definitions"
        if not folder.exists():
            folder.mkdir()
            chart = str(kserve / "charts" / "kserve-crd")
            text = self.run("KServe's CRDs: helm template", self.helm, "template", "x", chart)
            (folder / "all.yaml").write_text(text)
        return folder

    def manifests(self, name: str, text: str) -> list[Any]:
        """Check objects, each by what knows its kind; the objects."""
        objects = [one for one in yaml.safe_load_all(text) if one]
        if not objects:
            self.compare(f"{name}: there are objects", ["none"])
        self.native(name, objects)
        self.typed(name, objects)
        self.kserve_objects(name, objects)
        self.compare(f"{name}: selectors and ports match", mismatched(objects))
        self.compare(f"{name}: what servers are told", misunderstood(objects))
        return objects

    def scan(self, name: str, folder: Path, **options: Any) -> None:
        """Checkov's findings in a folder."""
        flags = ("--skip-download", "--quiet", "--compact", "--skip-check", CHECKOV_SKIPPED)
        command = (self.checkov, *flags, "--framework", "kubernetes", "dockerfile")
        self.run(name, *command, "--directory", str(folder), **options)


def _api(one: Any) -> str:
    return str(one.get("apiVersion", ""))


def main() -> int:
    """Run all checks; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("tools", "checkov", "kube", "debian"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--kserve", type=Path, help="a checkout of KServe, for its CRDs and chart")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        checks = Checks(given, Path(temporary))
        check_containers(checks)
        scanned = checks.folder / "scanned"
        scanned.mkdir()
        shutil.copy(CONTAINERS / "Dockerfile", scanned)
        rendered = {**check_chart(checks), **check_kustomize(checks)}
        for name, text in rendered.items():
            (scanned / f"{name.replace('/', '-')}.yaml").write_text(text)
        objects = [one for text in rendered.values() for one in yaml.safe_load_all(text) if one]
        check_kserve(checks)
        check_queries(checks, queries(objects))
        checks.scan("Dockerfile and manifests: checkov", scanned)
        self_test(checks, rendered)
        print(f"{len(checks.failed)} failed, {len(checks.missing)} not run")
    return 1 if checks.failed else 0


def check_containers(checks: Checks) -> None:
    """The Dockerfile, the script that builds it, and the unit of systemd."""
    checks.run("Dockerfile: hadolint", checks.hadolint, str(CONTAINERS / "Dockerfile"))
    checks.run_debian("shellcheck", "image.sh: shellcheck", str(CONTAINERS / "image.sh"))
    # A unit whose program is not there is refused: one that is stands in for it.
    unit = checks.folder / "pinnace.service"
    text = (ROOT / "deploy" / "systemd" / "pinnace.service").read_text()
    unit.write_text(text.replace("/opt/pinnace/bin/pinnace", "/bin/true"))
    verify = partial(checks.run_debian, "systemd-analyze")
    verify("pinnace.service: systemd-analyze", "verify", "--man=no", str(unit))


def check_chart(checks: Checks) -> dict[str, str]:
    """The chart, with values that take every branch; what they make."""
    checks.run("chart: helm lint", checks.helm, "lint", "--strict", str(CHART))
    rendered = {}
    for name, values in CHARTS.items():
        file = checks.folder / f"{name}.json"
        file.write_text(json.dumps(values))
        command = (checks.helm, "template", "x", str(CHART), "--namespace", "n", "-f", str(file))
        text = checks.run(f"chart, {name}: helm template", *command)
        checks.manifests(f"chart, {name}", text)
        rendered[f"chart-{name}"] = text
    for value, word in REFUSED.items():
        command = (checks.helm, "template", "x", str(CHART), "--set", value)
        checks.run(f"chart: {value} is refused", *command, fails=True, needs=word)
    # What `init` containers do is theirs to secure.
    del rendered["chart-bare"]
    return rendered


def check_kustomize(checks: Checks) -> dict[str, str]:
    """The overlays; what they make."""
    rendered = {}
    for where in ("overlays/plain", "overlays/production", "kserve"):
        text = checks.run(
            f"{where}: kubectl kustomize", checks.kubectl, "kustomize", str(KUBERNETES / where)
        )
        checks.manifests(where, text)
        rendered[where] = text
    return rendered


def check_kserve(checks: Checks) -> None:
    """KServe's services, and that its own chart takes our two values."""
    services = (KUBERNETES / "kserve" / "services.yaml").read_text()
    checks.manifests("kserve/services", services)
    name = "kserve/tensorflow-values: KServe's chart"
    if checks.kserve is None:
        checks.not_run("KServe's CRDs", "they are in no package. Try: KSERVE_SOURCE=a checkout")
        checks.not_run(name, "it is in no package. Try: KSERVE_SOURCE=a checkout of KServe")
        return
    chart = str(checks.kserve / "charts" / "kserve-runtime-configs")
    values = str(KUBERNETES / "kserve" / "tensorflow-values.yaml")
    enabled = ("--set", "kserve.servingruntime.enabled=true", "-f", values)
    checks.run(name, checks.helm, "template", "x", chart, *enabled, needs="image: pinnace:slim")


def check_queries(checks: Checks, scaling: list[str]) -> None:
    """Prometheus' configuration, the alerts and their tests, and what is asked elsewhere."""
    folder = checks.folder / "prometheus"
    folder.mkdir()
    for file in (CONTAINERS / "prometheus.yml", CHART / "alerts.yaml"):
        shutil.copy(file, folder)
    shutil.copy(KUBERNETES / "alerts_test.yaml", folder)
    board = json.loads((CONTAINERS / "grafana" / "pinnace.json").read_text())
    asked = [*scaling, *board_queries(board)]
    rules = [{"record": f"asked:{i}", "expr": query} for i, query in enumerate(asked)]
    (folder / "asked.json").write_text(json.dumps({"groups": [{"name": "asked", "rules": rules}]}))
    check: Callable[..., None] = partial(checks.run_debian, "promtool")
    check("prometheus.yml and alerts: promtool", "check", "config", str(folder / "prometheus.yml"))
    check("alerts: their tests", "test", "rules", str(folder / "alerts_test.yaml"))
    check(f"{len(asked)} queries: promtool", "check", "rules", str(folder / "asked.json"))
    wrong = (folder / "alerts.yaml").read_text().replace("> 32", "> 3200")
    (folder / "alerts.yaml").write_text(wrong)
    check("a slip in an alert", "test", "rules", str(folder / "alerts_test.yaml"), fails=True)


def self_test(checks: Checks, rendered: dict[str, str]) -> None:
    """Let the checks refuse objects with a slip in them: one that finds nothing there is none."""

    def slipped(where: str, good: str, bad: str) -> list[Any]:
        text = rendered[where] if where in rendered else (KUBERNETES / where).read_text()
        if good not in text:
            checks.failed.append(f"{where} has no {good!r}")
        return [one for one in yaml.safe_load_all(text.replace(good, bad)) if one]

    plain, production = "overlays/plain", "overlays/production"
    checks.native("a slip", slipped(plain, "imagePullPolicy:", "imagePullPolice:"), fails=True)
    keda = slipped(production, "minReplicaCount:", "minReplicasCount:")
    checks.typed("a slip", keda, fails=True, needs="minReplicasCount")
    checks.kserve_objects(
        "a slip", slipped("kserve/services.yaml", "modelFormat:", "modelFromat:"), fails=True
    )
    checks.kserve_objects("a slip", slipped("kserve", "port: 9000", "port: 8080"), fails=True)
    name = "app.kubernetes.io/name: pinnace"
    wrong = slipped(plain, f"selector:\n    matchLabels:\n      {name}", "selector: {}")
    checks.compare("a slip in a selector", mismatched(wrong), fails=True)
    wrong = slipped(plain, "--drain_s=15", "--drain=15")
    checks.compare("a slip in a flag", misunderstood(wrong), fails=True)
    folder = checks.folder / "slips"
    folder.mkdir()
    safe = "allowPrivilegeEscalation: false"
    wrong = slipped(plain, safe, "allowPrivilegeEscalation: true")
    (folder / "plain.yaml").write_text(yaml.safe_dump_all(wrong))
    checks.scan("a slip: checkov", folder, fails=True, needs="CKV_K8S_20")
    file = folder / "Dockerfile"
    file.write_text("FROM debian\nUSER 1\n")
    checks.run("a slip: hadolint", checks.hadolint, str(file), fails=True, needs="DL3006")


if __name__ == "__main__":
    sys.exit(main())
