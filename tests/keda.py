"""What scales on a cluster, without one: KEDA's lag over a real broker, and the rule of Kubernetes' autoscaler.

KEDA's nats-jetstream scaler reads `/jsz?acc=…&consumers=true&config=true` from NATS's monitoring port; a queue's lag is
`num_pending` plus `num_ack_pending`. The autoscaler's rule is that of `autoscaling/v2` for external metrics with an
average value: `pkg/controller/podautoscaler` of Kubernetes, its tolerance, windows and policies, over the ScaledObjects
that are checked in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import yaml

from sourcier.services.stack.processes.ports import free_ports
from sourcier.services.stack.servers.nats import NatsServer

RENDERED = Path(__file__).parents[1] / "deploy" / "k8s" / "rendered" / "autoscaled" / "sourcier.yaml"
SYNC_SECONDS = 15.0
"""How often the autoscaler looks."""
TOLERANCE = 0.1
"""A quotient of lag and target this near to 1 changes nothing."""


def scalers() -> dict[str, Any]:
    """Return the ScaledObjects that are checked in, by what they scale."""
    manifests = yaml.load_all(RENDERED.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in manifests
            if each and each["kind"] == "ScaledObject"}


class Monitored(NatsServer):
    """A broker with its monitoring port open, as a cluster's is to KEDA."""

    monitor = 0

    async def prepare(self) -> None:
        """Choose the port too."""
        self.monitor = self.monitor or free_ports(1)[0]
        await super().prepare()

    async def lags(self, triggers: Sequence[Mapping[str, str]]) -> list[int]:
        """Return what KEDA takes for the lag of each trigger: messages that wait or are in hand."""
        [account] = {trigger["account"] for trigger in triggers}
        async with httpx.AsyncClient(verify=False) as client:  # plain HTTP: certificates would be loaded for nothing
            told = (await client.get(f"http://127.0.0.1:{self.monitor}/jsz", params={
                "acc": account, "consumers": "true", "config": "true"
            })).json()
        [found] = told["account_details"]
        waiting = {
            (stream["name"], consumer["name"]): int(consumer["num_pending"]) + int(consumer["num_ack_pending"])
            for stream in found["stream_detail"] for consumer in stream.get("consumer_detail") or ()
        }
        return [waiting[trigger["stream"], trigger["consumer"]] for trigger in triggers]

    def _configuration(self) -> str:
        return f'{super()._configuration()}\nhttp: "127.0.0.1:{self.monitor}"\n'


class Autoscaler:
    """The autoscaler of one ScaledObject. Its clock is the caller's: seconds that never go back."""

    def __init__(self, specification: Mapping[str, Any], *, replicas_max: int = 0) -> None:
        """Begin at the least; `replicas_max` is another bound than the ScaledObject's."""
        self.replicas = int(specification["minReplicaCount"])
        self._least = self.replicas
        self._most = replicas_max or int(specification["maxReplicaCount"])
        behavior = specification["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        self._up, self._down = behavior["scaleUp"], behavior["scaleDown"]
        self._recommended: list[tuple[float, int]] = []
        self._changes: list[tuple[float, int]] = []

    def look(self, now: float, lags: Sequence[tuple[int, int]]) -> int:
        """Return how many replicas there are to be, by the lag and threshold of each trigger."""
        if not self._recommended:
            self._recommended.append((now, self.replicas))
        wanted = self._bounded(max(self._asked(lag, threshold) for lag, threshold in lags))
        self._recommended.append((now, wanted))
        highest = self._stable(now, self._down["stabilizationWindowSeconds"], max)
        lowest = self._stable(now, self._up["stabilizationWindowSeconds"], min)
        recommended = min(max(self.replicas, lowest), highest)
        limited = min(max(recommended, self._floor(now)), self._ceiling(now))
        if limited != self.replicas:
            self._changes.append((now, limited - self.replicas))
            self.replicas = limited
        return self.replicas

    def _asked(self, lag: int, threshold: int) -> int:
        quotient = lag / (threshold * self.replicas)
        return self.replicas if abs(quotient - 1) <= TOLERANCE else math.ceil(lag / threshold)

    def _bounded(self, wanted: int) -> int:
        return max(self._least, min(wanted, self._most))

    def _stable(self, now: float, window: float, choose: Any) -> int:
        newest = self._recommended[-1][1]
        return int(choose([newest, *(wanted for at, wanted in self._recommended if now - at < window)]))

    def _ceiling(self, now: float) -> int:
        """Return the most that the policies of growth allow; the largest of them counts."""
        allowed = []
        for policy in self._up["policies"]:
            began = self.replicas - sum(change for change in self._since(now, policy) if change > 0)
            allowed.append(began + policy["value"] if policy["type"] == "Pods"
                           else math.ceil(began * (1 + policy["value"] / 100)))
        return int(max(allowed))

    def _floor(self, now: float) -> int:
        allowed = []
        for policy in self._down["policies"]:
            began = self.replicas - sum(change for change in self._since(now, policy) if change < 0)
            allowed.append(began - policy["value"] if policy["type"] == "Pods"
                           else math.floor(began * (1 - policy["value"] / 100)))
        return int(min(allowed))

    def _since(self, now: float, policy: Mapping[str, Any]) -> list[int]:
        return [change for at, change in self._changes if now - at < policy["periodSeconds"]]
