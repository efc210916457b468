"""Rendered Kubernetes objects, and what of them belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Rendered:
    """The objects of one rendering, as they are applied."""

    objects: list[Manifest]
    prefix: str = "sourcier.v1."
    space_ids: tuple[str, ...] = ("multilingual-e5-small-ff671f68",)

    def of(self, *kinds: str) -> list[Manifest]:
        """Return the objects of these kinds."""
        return [each for each in self.objects if each["kind"] in kinds]

    def pods(self) -> Iterator[tuple[str, Manifest]]:
        """Yield name and template of whatever makes pods."""
        for each in self.of("Deployment", "Job"):
            yield each["metadata"]["name"], each["spec"]["template"]

    def containers(self, *, start: bool = True) -> Iterator[tuple[str, Manifest, Manifest]]:
        """Yield name, container and pod specification, those that run at the start included."""
        for name, pod in self.pods():
            for container in (*(pod["spec"].get("initContainers", []) if start else ()), *pod["spec"]["containers"]):
                yield f"{name}/{container['name']}", container, pod["spec"]

    def settings(self, container: Manifest) -> dict[str, str]:
        """Return the environment of a container, that of ConfigMaps included; its own wins."""
        found: dict[str, str] = {}
        for source in container.get("envFrom", []):
            for each in self.of("ConfigMap"):
                if each["metadata"]["name"] == source["configMapRef"]["name"]:
                    found |= each["data"]
        return found | {entry["name"]: str(entry.get("value", "")) for entry in container.get("env", [])}


def health_port(settings: dict[str, str]) -> int:
    """Return the port at which a container tells its health without TLS; 0 where there is none."""
    listens = [value for key, value in settings.items() if key.endswith("_HEALTH_LISTEN")]
    return int(listens[0].rpartition(":")[2]) if listens else 0


def window(probe: Manifest) -> int:
    """Return how long a probe may fail."""
    return int(probe.get("periodSeconds", 10)) * int(probe.get("failureThreshold", 3))


def least_replicas(rendered: Rendered, name: str) -> int:
    """Return the fewest replicas that a Deployment may have."""
    for scaler in rendered.of("ScaledObject", "HorizontalPodAutoscaler"):
        if scaler["spec"]["scaleTargetRef"]["name"] == name:
            return int(scaler["spec"].get("minReplicaCount", scaler["spec"].get("minReplicas", 1)))
    found = next(each for each in rendered.of("Deployment") if each["metadata"]["name"] == name)
    return int(found["spec"].get("replicas", 1))


def selecting(rendered: Rendered, kind: str, pod: Manifest) -> list[Manifest]:
    """Return the objects of a kind that select a pod."""
    labels = pod["metadata"]["labels"].items()
    found = []
    for each in rendered.of(kind):
        selector = each["spec"].get("selector") or each["spec"].get("podSelector") or {}
        if (selector.get("matchLabels", selector)).items() <= labels:
            found.append(each)
    return found


def named_peers(peers: list[Manifest], pods: dict[str, Manifest]) -> set[str]:
    """Return the components that a list of peers selects."""
    return {
        component for peer in peers for component, pod in pods.items()
        if "podSelector" in peer and peer["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    }


def mounted_secrets(container: Manifest, pod: Manifest) -> Iterator[str]:
    """Yield the paths of the secrets that a container has."""
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for mount in container.get("volumeMounts", []):
        for item in volumes[mount["name"]].get("secret", {}).get("items", []):
            yield f"{mount['mountPath']}/{item['path']}"


def stages_of(rendered: Rendered) -> set[str]:
    """Return the stages of ingest that workloads have."""
    return {stage for _, container, _ in rendered.containers(start=False)
            for stage in rendered.settings(container).get("SOURCIER_INGEST_STAGES", "").split(",") if stage}


def told_by(trigger: Manifest) -> list[str]:
    """Return the labels of queues that a trigger's query has, the greatest of what each accept pod tells."""
    query = trigger["metadata"].get("query", "") if trigger["type"] == "prometheus" else ""
    return re.findall(r'^max\(sourcier_queue_messages\{[^}]*\bconsumer="([a-z0-9_]+)"\}\)$', query)


def growth_seconds(spec: Manifest) -> int:
    """Return for how many seconds a lag has to last before a ScaledObject adds replicas."""
    behavior = spec.get("advanced", {}).get("horizontalPodAutoscalerConfig", {}).get("behavior", {})
    return int(behavior.get("scaleUp", {}).get("stabilizationWindowSeconds", 0))
