"""Rules that rendered Kubernetes objects keep, each a function from the objects to its faults.

They are ours and not Kubernetes': a manifest may be valid and run as root, or name a setting that no service has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from sourcier.services.chassis.environment import declared_variables
from sourcier.services.chassis.queue.durables import durables, figures
from tests.deploy.objects import (
    Rendered,
    growth_seconds,
    health_port,
    least_replicas,
    mounted_secrets,
    named_peers,
    selecting,
    stages_of,
    told_by,
    window,
)

Rule = Callable[[Rendered], Iterator[str]]

RULES: dict[str, Rule] = {}
LIVENESS_SECONDS_MIN = 60
"""A busy model answers late; it is not dead before this."""
STARTUP_SECONDS_MIN = 900
"""Loading a language model takes up to a quarter of an hour."""
INTERNAL = frozenset({"gateway", "ingest", "embed", "rerank", "generate"})
"""Services that show each other the token of the installation."""
TLS_FILES = frozenset(f"SOURCIER_INTERNAL_TLS_{part}" for part in ("CERTIFICATE", "KEY", "CA"))
STAGES = frozenset({"accept", "collect", "parse", "ocr", "speech", "chunk", "index", "enrich"})
SPARE_SECONDS = 5
"""Between the end of the grace and the kill."""


def rule(function: Rule) -> Rule:
    """Add a rule under its name."""
    RULES[function.__name__] = function
    return function


@rule
def nobody_is_root(rendered: Rendered) -> Iterator[str]:
    for name, container, pod in rendered.containers():
        said = {**pod.get("securityContext", {}), **container.get("securityContext", {})}
        if said.get("runAsNonRoot") is not True or int(said.get("runAsUser", 0)) < 1000:
            yield f"{name} may run as root"


@rule
def nothing_is_gained_or_written(rendered: Rendered) -> Iterator[str]:
    for name, container, pod in rendered.containers():
        said = {**pod.get("securityContext", {}), **container.get("securityContext", {})}
        if said.get("readOnlyRootFilesystem") is not True:
            yield f"{name} can write to its image"
        if said.get("allowPrivilegeEscalation") is not False:
            yield f"{name} can gain privileges"
        if said.get("capabilities") != {"drop": ["ALL"]}:
            yield f"{name} keeps capabilities"
        if said.get("seccompProfile", {}).get("type") != "RuntimeDefault":
            yield f"{name} has no seccomp profile"
        if said.get("privileged") or pod.get("hostNetwork") or pod.get("hostPID"):
            yield f"{name} is part of its host"


@rule
def no_token_and_no_links(rendered: Rendered) -> Iterator[str]:
    for name, pod in rendered.pods():
        if pod["spec"].get("automountServiceAccountToken") is not False:
            yield f"{name} gets a token of the cluster"
        if pod["spec"].get("enableServiceLinks") is not False:
            yield f"{name} gets variables named after Services, which are settings' names"


@rule
def resources_are_bounded(rendered: Rendered) -> Iterator[str]:
    for name, container, _ in rendered.containers():
        resources = container.get("resources", {})
        for kind, needed in (("requests", ("cpu", "memory")), ("limits", ("memory", "ephemeral-storage"))):
            for each in needed:
                if each not in resources.get(kind, {}):
                    yield f"{name} has no {kind} of {each}"


@rule
def probes_are_patient(rendered: Rendered) -> Iterator[str]:
    for name, container, pod in rendered.containers(start=False):
        if pod.get("restartPolicy") == "OnFailure":
            continue
        ports = {port["containerPort"] for port in container.get("ports", [])}
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            probe = container.get(kind)
            if probe is None or probe.get("grpc", {}).get("port") not in ports:
                yield f"{name} has no {kind} by gRPC on a port of its own"
            elif probe["grpc"]["port"] != health_port(rendered.settings(container)):
                yield f"{name} is asked for its health by {kind} where it may want a certificate"
            elif kind == "livenessProbe" and window(probe) < LIVENESS_SECONDS_MIN:
                yield f"{name} is killed after {window(probe)} s of silence; a busy model is silent longer"
            elif kind == "startupProbe" and window(probe) < STARTUP_SECONDS_MIN:
                yield f"{name} is killed after {window(probe)} s of starting"


@rule
def the_grace_is_kept(rendered: Rendered) -> Iterator[str]:
    for name, container, pod in rendered.containers(start=False):
        if pod.get("restartPolicy") == "OnFailure":
            continue
        settings = rendered.settings(container)
        grace = next((float(value) for key, value in settings.items() if key.endswith("_GRACE_SECONDS")), 20.0)
        pause = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        if pause < 5:
            yield f"{name} refuses calls before its address is taken out of Services"
        if pod.get("terminationGracePeriodSeconds", 30) < pause + grace + SPARE_SECONDS:
            yield f"{name} is killed within its grace of {grace:g} s"


@rule
def what_is_replicated_has_a_budget(rendered: Rendered) -> Iterator[str]:
    budgets = [each["spec"] for each in rendered.of("PodDisruptionBudget")]
    for each in rendered.of("Deployment"):
        name, labels = each["metadata"]["name"], each["spec"]["template"]["metadata"]["labels"]
        held = [budget for budget in budgets if budget["selector"]["matchLabels"].items() <= labels.items()]
        if least_replicas(rendered, name) > 1 and len(held) != 1:
            yield f"{name} is replicated and has {len(held)} budgets"
        if least_replicas(rendered, name) <= 1 and held:
            yield f"{name} has one replica, and a budget that holds up its node"


@rule
def replicas_are_spread(rendered: Rendered) -> Iterator[str]:
    for each in rendered.of("Deployment"):
        labels = each["spec"]["template"]["metadata"]["labels"]
        keys = {
            spread["topologyKey"] for spread in each["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
            if spread["labelSelector"]["matchLabels"].items() <= labels.items()
        }
        if keys != {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}:
            yield f"{each['metadata']['name']} is spread over {sorted(keys) or 'nothing'}"


@rule
def every_port_is_accounted_for(rendered: Rendered) -> Iterator[str]:
    for each in rendered.of("Deployment"):
        name, pod = each["metadata"]["name"], each["spec"]["template"]
        [container] = pod["spec"]["containers"]
        named = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        listens = {int(value.rpartition(":")[2]) for key, value in rendered.settings(container).items()
                   if key.endswith("_LISTEN") and value}
        if listens != set(named.values()):
            yield f"{name} listens on {sorted(listens)}, and declares {sorted(named.values())}"
        served = {port["targetPort"] for service in selecting(rendered, "Service", pod)
                  for port in service["spec"]["ports"]}
        # What is told in the clear is told to the kubelet alone, which no policy keeps away from its own pods.
        public = {port for port, number in named.items() if number != health_port(rendered.settings(container))}
        if served != public:
            yield f"{name} has ports {sorted(public)}, its Service {sorted(served)}"
        let_in = {port["port"] for policy in selecting(rendered, "NetworkPolicy", pod)
                  for way in policy["spec"]["ingress"] for port in way["ports"]}
        if rendered.of("NetworkPolicy") and not let_in <= public:
            yield f"{name} lets in {sorted(let_in)}, and has ports {sorted(public)}"


@rule
def every_pod_has_its_policy(rendered: Rendered) -> Iterator[str]:
    if not rendered.of("NetworkPolicy"):
        yield "there is no NetworkPolicy"
    for name, pod in rendered.pods():
        found = selecting(rendered, "NetworkPolicy", pod)
        if len(found) != 1 or set(found[0]["spec"]["policyTypes"]) != {"Ingress", "Egress"}:
            yield f"{name} is under {len(found)} policies of both ways"
        elif any(not way.get("ports") for way in (*found[0]["spec"]["ingress"], *found[0]["spec"]["egress"])):
            yield f"{name} has a way without ports, which is every port"


@rule
def whoever_calls_may_call(rendered: Rendered) -> Iterator[str]:
    """What leaves one pod for another has to be let in there, and the other way round."""
    pods = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for _, pod in rendered.pods()}
    out, into = set(), set()
    for component, pod in pods.items():
        for policy in selecting(rendered, "NetworkPolicy", pod):
            for way in policy["spec"]["egress"]:
                out |= {(component, other) for other in named_peers(way.get("to", []), pods)}
            for way in policy["spec"]["ingress"]:
                into |= {(other, component) for other in named_peers(way.get("from", []), pods)}
    for caller, called in sorted(out ^ into):
        yield f"{caller} calls {called}: {'let in there alone' if (caller, called) in into else 'not let in there'}"
    needed = {("gateway", called) for called in ("ingest-accept", "embed", "rerank", "generate")} | {("web", "gateway")}
    for caller, called in sorted(needed - out):
        if {caller, called} <= pods.keys():
            yield f"{caller} cannot reach {called}"


@rule
def secrets_come_as_files(rendered: Rendered) -> Iterator[str]:
    secret = {name.removesuffix("_FILE") for name in declared_variables() if name.endswith("_FILE")
              and name.removesuffix("_FILE") in declared_variables()}
    for each in rendered.of("ConfigMap"):
        for name in secret & each["data"].keys():
            yield f"{name} is a secret, and lies in a ConfigMap"
    for name, container, pod in rendered.containers():
        for variable in sorted(secret & rendered.settings(container).keys()):
            yield f"{name} is given the secret {variable} in the open"
        used = {value for key, value in rendered.settings(container).items()
                if (key.endswith("_FILE") and key.removesuffix("_FILE") in secret | {"SOURCIER_NATS_CREDENTIALS"})
                or key in TLS_FILES}
        mounted = set(mounted_secrets(container, pod))
        for path in sorted(used - mounted):
            yield f"{name} reads {path}, and nothing is mounted there"
        for path in sorted(mounted - used):
            yield f"{name} is given {path}, and does not read it"


@rule
def every_setting_exists(rendered: Rendered) -> Iterator[str]:
    known = declared_variables()
    for name, container, _ in rendered.containers():
        for variable in sorted(rendered.settings(container)):
            if variable.startswith("SOURCIER_") and variable not in known:
                yield f"{name} is told {variable}, which is no setting"


@rule
def services_know_one_another(rendered: Rendered) -> Iterator[str]:
    """Whoever has a port that calls come to from services shows and asks for the token; the gateway shows it."""
    for name, container, _ in rendered.containers(start=False):
        [service] = container["args"]
        if service in INTERNAL and "SOURCIER_INTERNAL_TOKEN_FILE" not in rendered.settings(container):
            yield f"{name} has no token of the installation"


@rule
def certificates_fit(rendered: Rendered) -> Iterator[str]:
    """Where services speak TLS, all do; each is called by a name of its certificate, and lets in whoever calls it."""
    inner = {name.partition("/")[0]: (container, pod) for name, container, pod in rendered.containers(start=False)
             if container["args"][0] in INTERNAL}
    speaking = {name for name, (container, _) in inner.items() if rendered.settings(container).keys() >= TLS_FILES}
    if not speaking:
        return
    for name in sorted(inner.keys() - speaking):
        yield f"{name} has no certificate, and the others speak with nobody without one"
    held = {each["spec"]["secretName"]: each["spec"] for each in rendered.of("Certificate")}
    names: dict[str, set[str]] = {}
    for name in sorted(speaking):
        _, pod = inner[name]
        [secret] = [volume["secret"]["secretName"] for volume in pod["volumes"] if volume["name"] == "tls"]
        made = held.get(secret)
        if made is None:
            yield f"{name} mounts {secret}, which no Certificate makes"
            continue
        names[name] = set(made["dnsNames"])
        if name not in names[name]:
            yield f"{name} is called by that name, and its certificate has {sorted(names[name])}"
        if not {"server auth", "client auth"} <= set(made["usages"]):
            yield f"the certificate of {name} is not for both ends of a connection"
    pods = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for _, pod in rendered.pods()}
    by_component = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: name for name, pod in rendered.pods()}
    for component, pod in pods.items():
        for policy in selecting(rendered, "NetworkPolicy", pod):
            for way in policy["spec"]["egress"]:
                for called in named_peers(way.get("to", []), pods):
                    caller, target = by_component[component], by_component[called]
                    if {caller, target} <= names.keys():
                        peers = set(rendered.settings(inner[target][0])["SOURCIER_INTERNAL_TLS_PEERS"].split(","))
                        if not peers & names[caller]:
                            yield f"{target} hears {sorted(peers)}, and {caller} calls it"


@rule
def somebody_can_sign_in(rendered: Rendered) -> Iterator[str]:
    """A gateway that other machines reach does not start where nobody could."""
    for name, container, pod in rendered.containers(start=False):
        settings = rendered.settings(container)
        issuer, audience = (settings.get(f"SOURCIER_GATEWAY_OIDC_{each}") for each in ("ISSUER", "AUDIENCE"))
        keeps = any(each["args"] == ["first-key"] for each in pod.get("initContainers", []))
        if container["args"] == ["gateway"] and not (issuer and audience) and not keeps:
            yield f"{name} knows neither an identity provider nor a first key"


@rule
def what_is_asked_for_is_served(rendered: Rendered) -> Iterator[str]:
    """Every stage of ingest has a workload; scans are handed on where somebody reads them."""
    running = stages_of(rendered)
    for stage in sorted(STAGES - {"ocr", "speech", "enrich"} - running):
        yield f"no workload has the stage {stage}"
    for name, container, _ in rendered.containers(start=False):
        said = rendered.settings(container).get("SOURCIER_INGEST_OCR", "true")
        if container["args"] == ["ingest"] and said != ("true" if "ocr" in running else "false"):
            yield f"{name} is told SOURCIER_INGEST_OCR={said}; of the stages, {sorted(running)} run"
        said = rendered.settings(container).get("SOURCIER_INGEST_SPEECH", "false")
        if container["args"] == ["ingest"] and said != ("true" if "speech" in running else "false"):
            yield f"{name} is told SOURCIER_INGEST_SPEECH={said}; of the stages, {sorted(running)} run"


@rule
def browsers_reach_the_page(rendered: Rendered) -> Iterator[str]:
    """The web service knows the names by which it is called, and replicas open one another's sessions."""
    for name, container, _ in rendered.containers(start=False):
        settings = rendered.settings(container)
        if container["args"] != ["web"]:
            continue
        public = urlsplit(settings.get("SOURCIER_WEB_PUBLIC_URL", "")).hostname
        for host in (public, name.partition("/")[0]):
            if host and host not in settings.get("SOURCIER_WEB_HOSTS", "").split(","):
                yield f"{name} refuses requests for {host}"
        if "SOURCIER_WEB_SESSION_SECRET_FILE" not in settings:
            yield f"{name} makes up a secret of its own: who signed in at one replica is unknown to the next"


@rule
def every_queue_has_its_scaler(rendered: Rendered) -> Iterator[str]:
    """Every durable of a work queue whose stage runs is a trigger, and every trigger is a durable."""
    scaled = rendered.of("ScaledObject")
    if not scaled:
        return
    named = {each.name: each for each in durables(rendered.prefix)}
    running = stages_of(rendered)
    triggers = [trigger["metadata"] for each in scaled for trigger in each["spec"]["triggers"]
                if trigger["type"] == "nats-jetstream"]
    for trigger in triggers:
        found = named.get(trigger["consumer"])
        if found is None or found.stream != trigger["stream"]:
            yield f"no service makes the durable {trigger['consumer']} of {trigger['stream']}"
        if int(trigger["lagThreshold"]) > 64:
            yield f"{trigger['consumer']} never has {trigger['lagThreshold']} waiting: 64 documents are under way"
    for each in named.values():
        if each.work_queue and each.stage in running and each.name not in {each["consumer"] for each in triggers}:
            yield f"nothing is scaled by {each.name}"


@rule
def embed_has_a_scaler_of_its_own(rendered: Rendered) -> Iterator[str]:
    """Its durables are each tenant's: it goes by the figures of its space where Prometheus is known, else by load."""
    if not rendered.of("ScaledObject"):
        return
    scalers = {each["spec"]["scaleTargetRef"]["name"]: each for each in rendered.of(
        "ScaledObject", "HorizontalPodAutoscaler")}
    wanted = {figure.name for figure in figures(rendered.prefix, space_ids=rendered.space_ids)}
    asked = set()
    for name, container, _ in rendered.containers(start=False):
        scaler = scalers.get(name.partition("/")[0])
        if container["args"] != ["embed"]:
            continue
        if scaler is None:
            yield f"{name} is not scaled"
        elif scaler["kind"] == "ScaledObject":
            found = {label for trigger in scaler["spec"]["triggers"] for label in told_by(trigger)}
            asked |= found
            if len({label.rpartition("_")[2] for label in found}) != 1:
                yield f"{name} is scaled by {sorted(found) or 'nothing'}, which is not the queue of one space"
        else:
            asked |= wanted
    for label in sorted(asked ^ wanted):
        yield f"nothing is scaled by {label}" if label in wanted else f"no service tells {label}"


@rule
def scalers_scale_what_is_there(rendered: Rendered) -> Iterator[str]:
    deployments = {each["metadata"]["name"]: each for each in rendered.of("Deployment")}
    scaled: list[str] = []
    for scaler in rendered.of("ScaledObject", "HorizontalPodAutoscaler"):
        spec, name = scaler["spec"], scaler["spec"]["scaleTargetRef"]["name"]
        scaled.append(name)
        least = spec.get("minReplicaCount", spec.get("minReplicas", 0))
        if name not in deployments:
            yield f"{scaler['metadata']['name']} scales {name}, which is not there"
        elif "replicas" in deployments[name]["spec"]:
            yield f"{name} says how many replicas it has, against its scaler"
        if least < 1 or spec.get("maxReplicaCount", spec.get("maxReplicas", 0)) < least:
            yield f"{scaler['metadata']['name']} scales {name} to {least} replicas"
        if scaler["kind"] == "ScaledObject" and "fallback" not in spec:
            yield f"{scaler['metadata']['name']} has no fallback for a broker that cannot be asked"
        if scaler["kind"] == "ScaledObject" and not (lasting := growth_seconds(spec)) > 0:
            yield f"{scaler['metadata']['name']} grows by what passes within seconds: a window of {lasting} s"
    for name in sorted({name for name in scaled if scaled.count(name) > 1}):
        yield f"{name} has two scalers"


@rule
def what_is_written_is_bounded(rendered: Rendered) -> Iterator[str]:
    for name, container, pod in rendered.containers():
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        if "/tmp" not in {mount["mountPath"] for mount in container.get("volumeMounts", [])}:
            yield f"{name} has nowhere to write"
        for mount in container.get("volumeMounts", []):
            volume = volumes.get(mount["name"], {})
            if "emptyDir" in volume and not volume["emptyDir"].get("sizeLimit"):
                yield f"{name} may fill its node by {mount['mountPath']}"
            if "emptyDir" not in volume and not mount.get("readOnly"):
                yield f"{name} can write to {mount['mountPath']}"


@rule
def images_are_of_a_version(rendered: Rendered) -> Iterator[str]:
    for name, container, _ in rendered.containers():
        image = container["image"]
        if not re.search(r":[^:/]+$|@sha256:[0-9a-f]{64}$", image) or image.endswith(":latest"):
            yield f"{name} runs whatever {image} is that day"


@rule
def a_change_of_settings_rolls_pods(rendered: Rendered) -> Iterator[str]:
    for each in rendered.of("Deployment"):
        if not each["spec"]["template"]["metadata"].get("annotations", {}).get("sourcier/settings"):
            yield f"{each['metadata']['name']} does not carry the hash of its settings"
