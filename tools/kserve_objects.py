"""Check KServe's objects by the classes of its client: every field is known, and of its type.

It is run by the interpreter of the environment that has them: see `make k8s-check`. They are
generated from KServe's own types. The package's `__init__` would import a server, and is skipped.
With `--crds FOLDER`, of KServe's CustomResourceDefinitions, the schemas of a cluster are checked,
too; an unknown field is an error, since a cluster would silently drop it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes.client.models as native
import yaml

_found = importlib.util.find_spec("kserve")
if _found is None:
    sys.exit("KServe's client is not installed. Try: make k8s-check")
_package = types.ModuleType("kserve")
_package.__path__ = list(_found.submodule_search_locations or ())
sys.modules["kserve"] = _package
models = importlib.import_module("kserve.models")

_PLAIN = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "object": object,
    "datetime": str,
}


def problems(value: Any, kind: str, where: str) -> list[str]:
    """The problems of a value of a given kind, as the client names kinds."""
    listed = re.fullmatch(r"[Ll]ist\[(.+)\]", kind)
    mapped = re.fullmatch(r"[Dd]ict[\[(]\w+, (.+)[\])]", kind)
    if listed is not None:
        if not isinstance(value, list):
            return [f"{where}: a list was expected, got {value!r}"]
        return [p for i, one in enumerate(value) for p in problems(one, listed[1], f"{where}[{i}]")]
    if mapped is not None:
        if not isinstance(value, dict):
            return [f"{where}: a mapping was expected, got {value!r}"]
        return [p for key, one in value.items() for p in problems(one, mapped[1], f"{where}.{key}")]
    if kind in _PLAIN:
        is_bool = isinstance(value, bool) and kind in ("int", "float")
        if is_bool or not isinstance(value, _PLAIN[kind]):
            return [f"{where}: {kind} was expected, got {value!r}"]
        return []
    found = getattr(models, kind, None) or getattr(native, kind, None)
    if found is None:  # quantities, ports by number or name: any scalar
        return [f"{where}: a scalar was expected"] if isinstance(value, dict | list) else []
    return _fields(value, found, where)


def _fields(value: Any, kind: Any, where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where}: {kind.__name__} was expected, got {value!r}"]
    attributes = {spelt: name for name, spelt in kind.attribute_map.items()}
    found = [
        f"{where}.{key}: {kind.__name__} has no such field" for key in value.keys() - attributes
    ]
    for spelt, name in attributes.items():
        if spelt in value:
            found += problems(value[spelt], kind.openapi_types[name], f"{where}.{spelt}")
    try:  # what is required, and what may stand in a field
        kind(**{name: value[spelt] for spelt, name in attributes.items() if spelt in value})
    except (TypeError, ValueError) as error:
        found.append(f"{where}: {error}")
    return found


def _service(document: dict[str, Any], where: str) -> list[str]:
    """The checks of KServe's webhook on a service: a model's format, a canary's name and mode."""
    found = []
    spec = document["spec"]
    canaries = [one["predictor"] for one in spec.get("canary", [])]
    found += [f"{where}: a canary has no predictor.name" for one in canaries if not one.get("name")]
    found += [
        f"{where}: a predictor has no model.modelFormat.name"
        for one in (spec["predictor"], *canaries)
        if not one.get("model", {}).get("modelFormat", {}).get("name")
    ]
    mode = document["metadata"].get("annotations", {}).get("serving.kserve.io/deploymentMode")
    if canaries and mode != "Standard":
        found.append(f"{where}: canary is for the mode Standard, got {mode}")
    return found


def _runtime(document: dict[str, Any], where: str) -> list[str]:
    """The checks of KServe on a runtime's container, and of Knative's webhook on its probes."""
    containers = document["spec"]["containers"]
    servers = [one for one in containers if one.get("name") == "kserve-container"]
    if len(servers) != 1:
        return [f"{where}: one container must be named kserve-container"]
    ports = {one["containerPort"] for one in servers[0].get("ports", [])}
    return [
        f"{where}: {name} asks port {probe['port']}, and the container has {ports}"
        for name in ("readinessProbe", "livenessProbe", "startupProbe")
        for probe in servers[0].get(name, {}).values()
        if isinstance(probe, dict) and {probe["port"]} != ports
    ]


def schemas(folder: Path) -> dict[tuple[str, str], Any]:
    """The schemas of CustomResourceDefinitions, by kind and API version.

    Args:
        folder: with their files.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        for definition in filter(None, yaml.load_all(file.read_text(), Loader=loader)):
            for version in definition["spec"].get("versions", []):
                schema = version["schema"]["openAPIV3Schema"]
                # What metadata may have, all kinds have in common.
                schema["properties"]["metadata"] = {"type": "object"}
                _close(schema["properties"]["spec"])
                key = (definition["spec"]["names"]["kind"], version["name"])
                found[key] = schema
    return found


def _close(schema: Any) -> None:
    """Let a schema refuse what it does not know, as `kubectl --validate=strict` does."""
    if isinstance(schema, list):
        for one in schema:
            _close(one)
    if not isinstance(schema, dict):
        return
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and not is_open:
        schema.setdefault("additionalProperties", False)
    for one in schema.values():
        _close(one)


def main() -> int:
    """Check files; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crds", type=Path, help="folder of KServe's CustomResourceDefinitions")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    known = schemas(given.crds) if given.crds else {}
    found: list[str] = []
    count = 0
    for file in given.files:
        for document in yaml.safe_load_all(file.read_text()):
            kind, version = document["kind"], document["apiVersion"].rpartition("/")[2]
            where = f"{kind} {document['metadata']['name']}"
            name = version.capitalize() + kind
            count += 1
            if getattr(models, name, None) is None:
                found.append(f"{kind}: KServe's client has no {name}")
                continue
            found += problems(document, name, where)
            rules = {"InferenceService": _service, "ClusterServingRuntime": _runtime}
            found += rules[kind](document, where)
            if given.crds:
                found += _by_schema(document, known.get((kind, version)), where)
    for line in found:
        print(line)
    print(f"{count} objects, {len(found)} problems")
    return 1 if found or not count else 0


def _by_schema(document: Any, schema: Any, where: str) -> list[str]:
    if schema is None:
        return [f"{where}: there is no definition of {document['apiVersion']}"]
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{where}: {error.json_path}: {error.message[:300]}" for error in errors]


if __name__ == "__main__":
    sys.exit(main())
