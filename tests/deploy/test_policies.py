"""Our own rules on what is rendered; each has a manifest that breaks it, and is seen to say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.deploy.conftest import profile, render, rendered
from tests.deploy.objects import Manifest, Rendered
from tests.deploy.policies import RULES

PROFILES = render.profiles()
Change = Callable[[dict[str, Manifest]], object]


@pytest.mark.parametrize("name", PROFILES)
def test_a_rendering_keeps_every_rule(name: str) -> None:
    found = Rendered(profile(name))
    assert {name: list(rule(found)) for name, rule in RULES.items()} == {name: [] for name in RULES}


@pytest.mark.parametrize("arguments", [
    ("--set", "autoscaling.kind=hpa"),
    ("--set", "autoscaling.kind=keda,autoscaling.prometheus="),
    ("--set", "workloads.ingest-ocr.enabled=false,autoscaling.kind=keda"),
    ("--set", "access.issuer=https://id.example.org,access.audience=rag,secrets.keys.SOURCIER_FIRST_KEY="),
    ("--set", "publicUrl=https://rag.example.org:8443/,secrets.keys.SOURCIER_METRICS_TOKEN=metrics-token"),
    ("--set", "autoscaling.kind=keda,workloads.ingest-enrich.enabled=true"),
    ("--set", "workloads.gateway.replicas=3,migrate.enabled=false"),
    ("--set", "secrets.natsCredentials=nats.creds,secrets.keys.SOURCIER_GATEWAY_WEBHOOK_TOKEN=webhook"),
    ("--set", "workloads.generate.image=generate,secrets.keys.SOURCIER_GENERATE_OPENAI_KEY=openai-key,"
              "settings.SOURCIER_GENERATE_OPENAI_URL=https://api.example.org/v1"),
    ("--set", "labels.team=search,serviceAccountName=mine,workloads.embed.replicas=0"),
    ("--set", "models.source=image,models.image=registry.example.org/models:1"),
    ("--set", "traces.url=https://traces.example.org:4318/otlp,secrets.keys.SOURCIER_TRACES_HEADERS=traces-headers"),
    ("--set", "internalTls.enabled=true,workloads.ingest-enrich.enabled=true"),
    ("--set", "internalTls.enabled=true,internalTls.issuer.kind=ClusterIssuer,internalTls.issuer.name=office"),
], ids=lambda arguments: str(arguments[1])[:40])
def test_other_values_keep_every_rule(arguments: tuple[str, ...]) -> None:
    found = Rendered(rendered(*arguments))
    assert {name: list(rule(found)) for name, rule in RULES.items()} == {name: [] for name in RULES}


def test_two_embedding_models_are_two_services_with_queues_of_their_own() -> None:
    spaces = ("multilingual-e5-small-ff671f68", "other-model-01234567")
    found = Rendered(rendered(
        "--set", "autoscaling.kind=keda,autoscaling.prometheus=http://prometheus:9090",
        "--set-json", 'models.embed=[{"name":"multilingual-e5-small","space":"multilingual-e5-small-ff671f68"},'
                      '{"name":"other-model","space":"other-model-01234567"}]',
    ), space_ids=spaces)
    for rule in RULES.values():
        assert list(rule(found)) == []
    [settings] = [each["data"] for each in found.of("ConfigMap")]
    assert settings["SOURCIER_EMBED_URL"] == "sourcier-embed:50051,sourcier-embed-2:50051"
    assert (settings["SOURCIER_EMBED_MODEL"], settings["SOURCIER_EMBED_MODELS"]) == (
        "multilingual-e5-small", "other-model"
    )


def test_another_prefix_changes_every_stream() -> None:
    found = Rendered(rendered("--set", "autoscaling.kind=keda,settings.SOURCIER_SUBJECT_PREFIX=office.v1."),
                     prefix="office.v1.")
    assert list(RULES["every_queue_has_its_scaler"](found)) == []


def pod(manifests: dict[str, Manifest], name: str = "sourcier-gateway") -> Any:
    return manifests[f"Deployment/{name}"]["spec"]["template"]["spec"]


def container(manifests: dict[str, Manifest], name: str = "sourcier-gateway") -> Any:
    return pod(manifests, name)["containers"][0]


def setting(manifests: dict[str, Manifest], name: str, value: str, of: str = "sourcier-gateway") -> None:
    container(manifests, of)["env"].append({"name": name, "value": value})


def trigger(manifests: dict[str, Manifest], of: str) -> Any:
    return manifests[f"ScaledObject/sourcier-{of}"]["spec"]["triggers"][0]["metadata"]


def remove(manifests: dict[str, Manifest], name: str) -> None:
    del manifests[name]


BROKEN: list[tuple[str, Change]] = [
    ("nobody_is_root", lambda made: container(made)["securityContext"].update(runAsUser=0)),
    ("nobody_is_root", lambda made: container(made)["securityContext"].update(runAsNonRoot=False)),
    ("nothing_is_gained_or_written", lambda made: container(made)["securityContext"].pop("readOnlyRootFilesystem")),
    ("nothing_is_gained_or_written", lambda made: container(made)["securityContext"].pop("capabilities")),
    ("nothing_is_gained_or_written", lambda made: pod(made).update(hostNetwork=True)),
    ("no_token_and_no_links", lambda made: pod(made).pop("automountServiceAccountToken")),
    ("no_token_and_no_links", lambda made: pod(made).update(enableServiceLinks=True)),
    ("resources_are_bounded", lambda made: container(made)["resources"]["limits"].pop("memory")),
    ("resources_are_bounded", lambda made: container(made)["resources"].pop("requests")),
    ("probes_are_patient", lambda made: container(made).pop("readinessProbe")),
    ("probes_are_patient", lambda made: container(made)["livenessProbe"].update(periodSeconds=5, failureThreshold=3)),
    ("probes_are_patient", lambda made: container(made)["startupProbe"].update(failureThreshold=3)),
    ("probes_are_patient", lambda made: container(made)["livenessProbe"].update(grpc={"port": 1})),
    ("probes_are_patient", lambda made: container(made)["livenessProbe"].update(grpc={"port": 50051})),
    ("the_grace_is_kept", lambda made: pod(made).update(terminationGracePeriodSeconds=30)),
    ("the_grace_is_kept", lambda made: container(made).pop("lifecycle")),
    ("what_is_replicated_has_a_budget", lambda made: remove(made, "PodDisruptionBudget/sourcier-gateway")),
    ("replicas_are_spread", lambda made: pod(made).pop("topologySpreadConstraints")),
    ("every_port_is_accounted_for", lambda made: setting(made, "SOURCIER_GATEWAY_HTTP_LISTEN", "0.0.0.0:8081")),
    ("every_port_is_accounted_for", lambda made: container(made)["ports"].pop()),
    ("every_port_is_accounted_for", lambda made: remove(made, "Service/sourcier-gateway")),
    ("every_port_is_accounted_for", lambda made: made["Service/sourcier-embed"]["spec"]["ports"].append(
        {"name": "health", "port": 50052, "targetPort": "health"})),
    ("every_port_is_accounted_for", lambda made: made["NetworkPolicy/sourcier-embed"]["spec"]["ingress"].append(
        {"ports": [{"protocol": "TCP", "port": "health"}]})),
    ("every_pod_has_its_policy", lambda made: remove(made, "NetworkPolicy/sourcier-gateway")),
    ("every_pod_has_its_policy",
     lambda made: made["NetworkPolicy/sourcier-gateway"]["spec"]["egress"].append({"to": []})),
    ("whoever_calls_may_call", lambda made: made["NetworkPolicy/sourcier-embed"]["spec"].update(ingress=[])),
    ("whoever_calls_may_call", lambda made: made["NetworkPolicy/sourcier-web"]["spec"].update(egress=[])),
    ("secrets_come_as_files", lambda made: setting(made, "SOURCIER_POSTGRES_URL", "postgresql://user:word@host/db")),
    ("secrets_come_as_files", lambda made: pod(made).update(volumes=[
        volume | ({"secret": {"secretName": "s", "items": []}} if volume["name"] == "secrets" else {})
        for volume in pod(made)["volumes"]])),
    ("secrets_come_as_files", lambda made: container(made).update(env=[
        entry for entry in container(made)["env"] if not entry["name"].startswith("SOURCIER_NATS_URL")])),
    ("secrets_come_as_files",
     lambda made: made["ConfigMap/sourcier"]["data"].update(SOURCIER_S3_SECRET_KEY="word")),
    ("every_setting_exists", lambda made: setting(made, "SOURCIER_GATEWAY_PASAGES", "5")),
    ("every_setting_exists", lambda made: made["ConfigMap/sourcier"]["data"].update(SOURCIER_S3_BUCKETS="a")),
    ("every_queue_has_its_scaler",
     lambda made: made["ScaledObject/sourcier-ingest-ocr"]["spec"]["triggers"].pop()),
    ("every_queue_has_its_scaler", lambda made: trigger(made, "ingest-parse").update(consumer="embed_bulk")),
    ("every_queue_has_its_scaler", lambda made: trigger(made, "ingest-parse").update(lagThreshold="100")),
    ("embed_has_a_scaler_of_its_own",
     lambda made: made["ScaledObject/sourcier-embed"]["spec"]["triggers"].pop()),
    ("embed_has_a_scaler_of_its_own", lambda made: remove(made, "ScaledObject/sourcier-embed")),
    ("embed_has_a_scaler_of_its_own", lambda made: trigger(made, "embed").update(
        query=trigger(made, "embed")["query"].replace("max(", "sum("))),
    ("embed_has_a_scaler_of_its_own", lambda made: trigger(made, "embed").update(
        query='max(sourcier_queue_messages{consumer="embed_bulk_0123456789ab"})')),
    ("services_know_one_another", lambda made: container(made, "sourcier-rerank").update(env=[])),
    ("somebody_can_sign_in", lambda made: pod(made).pop("initContainers")),
    ("somebody_can_sign_in", lambda made: (
        pod(made).pop("initContainers"),
        made["ConfigMap/sourcier"]["data"].update(SOURCIER_GATEWAY_OIDC_ISSUER="https://id.example.org"))),
    ("what_is_asked_for_is_served", lambda made: remove(made, "Deployment/sourcier-ingest-ocr")),
    ("what_is_asked_for_is_served", lambda made: remove(made, "Deployment/sourcier-ingest-index")),
    ("browsers_reach_the_page",
     lambda made: made["ConfigMap/sourcier"]["data"].update(SOURCIER_WEB_PUBLIC_URL="https://rag.example.org")),
    ("browsers_reach_the_page", lambda made: made["ConfigMap/sourcier"]["data"].pop("SOURCIER_WEB_HOSTS")),
    ("browsers_reach_the_page", lambda made: container(made, "sourcier-web").update(env=[])),
    ("secrets_come_as_files", lambda made: pod(made)["initContainers"][0].update(volumeMounts=[])),
    ("scalers_scale_what_is_there",
     lambda made: made["ScaledObject/sourcier-embed"]["spec"].update(minReplicaCount=0)),
    ("scalers_scale_what_is_there", lambda made: made["Deployment/sourcier-embed"]["spec"].update(replicas=1)),
    ("scalers_scale_what_is_there", lambda made: remove(made, "Deployment/sourcier-embed")),
    ("scalers_scale_what_is_there", lambda made: made["ScaledObject/sourcier-ingest-parse"]["spec"]["advanced"][
        "horizontalPodAutoscalerConfig"]["behavior"].pop("scaleUp")),
    ("scalers_scale_what_is_there", lambda made: made["ScaledObject/sourcier-embed"]["spec"].pop("fallback")),
    ("what_is_written_is_bounded", lambda made: pod(made)["volumes"][0].update(emptyDir={})),
    ("what_is_written_is_bounded", lambda made: container(made)["volumeMounts"].pop(0)),
    ("images_are_of_a_version", lambda made: container(made).update(image="sourcier-gateway:latest")),
    ("images_are_of_a_version", lambda made: container(made).update(image="host:5000/sourcier-gateway")),
    ("a_change_of_settings_rolls_pods",
     lambda made: made["Deployment/sourcier-web"]["spec"]["template"]["metadata"].pop("annotations")),
]


ENCRYPTED: list[tuple[str, Change]] = [
    ("certificates_fit", lambda made: container(made, "sourcier-rerank").update(env=[])),
    ("certificates_fit", lambda made: remove(made, "Certificate/sourcier-embed")),
    ("certificates_fit", lambda made: made["Certificate/sourcier-embed"]["spec"]["dnsNames"].remove("sourcier-embed")),
    ("certificates_fit", lambda made: made["Certificate/sourcier-gateway"]["spec"].update(usages=["server auth"])),
    ("certificates_fit",
     lambda made: made["Certificate/sourcier-gateway"]["spec"]["dnsNames"].remove("sourcier-gateway.sourcier.svc")),
    ("secrets_come_as_files", lambda made: pod(made, "sourcier-embed").update(volumes=[
        volume | ({"secret": {"secretName": "s", "items": []}} if volume["name"] == "tls" else {})
        for volume in pod(made, "sourcier-embed")["volumes"]])),
]
"""What is broken of a rendering whose services speak TLS."""


@pytest.mark.parametrize(("rule", "change"), ENCRYPTED, ids=[str(number) for number in range(len(ENCRYPTED))])
def test_a_manifest_that_breaks_a_rule_of_certificates_is_seen(rule: str, change: Change) -> None:
    manifests = {f"{each['kind']}/{each['metadata']['name']}": each for each in rendered(
        "--set", "internalTls.enabled=true")}
    change(manifests)
    assert list(RULES[rule](Rendered(list(manifests.values()))))


def test_who_may_call_whom_is_in_the_certificates_too() -> None:
    """The list of callers is that of the network policies: each component hears who calls it, and nobody else."""
    found = Rendered(rendered("--set", "internalTls.enabled=true,workloads.ingest-enrich.enabled=true"))
    peers = {name.partition("/")[0]: found.settings(made).get("SOURCIER_INTERNAL_TLS_PEERS", "")
             for name, made, _ in found.containers(start=False)}
    assert peers["sourcier-embed"] == "sourcier-gateway.sourcier.svc,sourcier-ingest-enrich.sourcier.svc"
    assert peers["sourcier-rerank"] == "sourcier-gateway.sourcier.svc"
    assert peers["sourcier-ingest-parse"] == "sourcier-ingest-parse.sourcier.svc", "whom nobody calls"
    assert peers["sourcier-web"] == ""


@pytest.mark.parametrize(
    ("rule", "change"), BROKEN, ids=[f"{rule}-{number}" for number, (rule, _) in enumerate(BROKEN)]
)
def test_a_manifest_that_breaks_a_rule_is_seen(rule: str, change: Change) -> None:
    manifests = {f"{each['kind']}/{each['metadata']['name']}": each for each in profile("autoscaled")}
    change(manifests)
    assert list(RULES[rule](Rendered(list(manifests.values()))))


def test_every_rule_is_seen_to_be_broken() -> None:
    assert {rule for rule, _ in (*BROKEN, *ENCRYPTED)} == set(RULES)
