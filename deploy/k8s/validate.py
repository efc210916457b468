"""Validate Kubernetes objects against the schemas of several versions, strictly, and custom ones against their CRDs.

Run by the interpreter of `.venv/deploy`: a JSON list of objects on standard input, a JSON list of faults on output.
Custom resources whose definition is in no folder that is named are listed under `unknown`.

    python validate.py 1.33,1.37 [FOLDER OF CRDS …] < objects.json
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml
from referencing import Registry, Resource

FOLDER = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
BUILT_IN = ("v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1", "networking.k8s.io/v1")


def main(versions: list[str], folders: list[Path]) -> None:
    objects: list[dict[str, Any]] = json.load(sys.stdin)
    definitions = read_definitions(folders)
    faults: list[str] = []
    unknown: set[str] = set()
    for entry in objects:
        name = f"{entry['kind']}/{entry['metadata']['name']}"
        if entry["apiVersion"] in BUILT_IN:
            faults += [f"{name} ({version}): {fault}" for version in versions for fault in built_in(entry, version)]
            continue
        schema = definitions.get((entry["apiVersion"], entry["kind"]))
        if schema is None:
            unknown.add(f"{entry['apiVersion']} {entry['kind']}")
            continue
        validator = jsonschema.Draft202012Validator(schema)
        faults += [
            f"{name}: {'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(entry)
        ]
    json.dump({"faults": faults, "unknown": sorted(unknown)}, sys.stdout)


def built_in(entry: dict[str, Any], version: str) -> list[str]:
    """Return what a version of Kubernetes refuses of an object of its own."""
    name = f"{entry['kind'].lower()}-{entry['apiVersion'].partition('/')[0].partition('.')[0]}"
    if "/" in entry["apiVersion"]:
        name += f"-{entry['apiVersion'].partition('/')[2]}"
    found = validator(name, version).iter_errors(entry)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in found]


@lru_cache(maxsize=256)
def validator(name: str, version: str) -> Any:
    """Return the validator of a kind. `kubernetes_validate.validate` would read a version's schemas for each object."""
    schema = contents(name, version)
    registry = Resource.from_contents(schema) @ (definitions_of(version) @ Registry())
    return jsonschema.Draft202012Validator(schema, registry=registry)


@lru_cache(maxsize=16)
def definitions_of(version: str) -> Any:
    """Return what the schemas of a version refer to."""
    return Resource.from_contents(contents("_definitions", version))


def contents(name: str, version: str) -> Any:
    """Return a schema of the newest patch of a version, the strict one: it refuses fields that it does not know."""
    [folder] = FOLDER.glob(f"v{version}.*-local-strict")
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def read_definitions(folders: list[Path]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the schemas of custom resources, by version and kind; fields that they do not know are refused."""
    schemas = {}
    for path in (each for folder in folders for each in sorted(folder.glob("*.yaml"))):
        for definition in yaml.load_all(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if not definition or definition.get("kind") != "CustomResourceDefinition":
                continue
            spec = definition["spec"]
            for version in spec["versions"]:
                key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                schemas[key] = closed({**version["schema"]["openAPIV3Schema"]}, top=True)
    return schemas


def closed(schema: Any, *, top: bool = False) -> Any:
    """Refuse fields that a structural schema does not name, as `kubectl apply --validate=strict` does."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    preserved = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string")
    if schema.get("properties") and "additionalProperties" not in schema and not preserved and not top:
        made["additionalProperties"] = False
    if schema.get("nullable"):
        made.pop("type", None)
    return made


if __name__ == "__main__":
    main(sys.argv[1].split(","), [Path(each) for each in sys.argv[2:]])
