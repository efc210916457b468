"""The chart: valid for every version of Kubernetes that it is for, strict about its values, its renderings fresh."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from eval import shared_sets
from sourcier.services.__main__ import SERVICES
from sourcier.services.chassis.queue import subjects
from sourcier.services.gateway.access.api_keys import tenant_of
from tests.deploy.conftest import FOLDER, ROOT, Loader, profile, render, rendered, tools, validated

VERSIONS = "1.33,1.34,1.35,1.36,1.37"
PROFILES = render.profiles()
# As few renderings as meet every branch of the templates.
MATRIX: list[tuple[str, ...]] = [
    ("--set", "autoscaling.kind=hpa,listenHost=[::],networkPolicy.enabled=false"),
    ("--set", "autoscaling.kind=keda,workloads.ingest-enrich.enabled=true,workloads.web.enabled=false"),
    ("--set", "access.issuer=https://id.example.org/realms/a,access.audience=rag,access.clientId=page,"
              "secrets.keys.SOURCIER_FIRST_KEY=,publicUrl=https://rag.example.org,monitoring.serviceMonitor=true,"
              "secrets.keys.SOURCIER_METRICS_TOKEN=metrics-token,workloads.ingest-ocr.enabled=false",
     "--set", "traces.url=http://collector:4318,traces.ratio=0.5,secrets.keys.SOURCIER_TRACES_HEADERS=traces"),
    ("--set", "secrets.natsCredentials=nats.creds,secrets.keys.SOURCIER_GATEWAY_WEBHOOK_TOKEN=webhook",
     "--set", "image.registry=registry.example.org/team,image.tag=1.2.3,image.pullSecrets[0].name=mine",
     "--set", "serviceAccountName=mine,labels.example\\.org/team=search",
     "--set-json", 'workloads.gateway.tolerations=[{"key":"a","operator":"Exists","effect":"NoSchedule"}]',
     "--set-json", 'networkPolicy.clients=[{"namespaceSelector":{"matchLabels":{"name":"ingress"}}}]',
     "--set-json", 'workloads.gateway.nodeSelector={"disk":"fast"}',
     "--set-json", 'workloads.gateway.affinity={"nodeAffinity":{}}',
     "--set", "workloads.gateway.priorityClassName=high,workloads.gateway.serviceAnnotations.team=a,"
              "workloads.gateway.podAnnotations.team=a"),
    ("--set", "models.source=image,models.image=registry.example.org/models:1,models.rerank=bge,migrate.enabled=false"),
    ("--set", "workloads.generate.image=generate,settings.SOURCIER_GENERATE_OPENAI_URL=https://api.example.org/v1"),
]


def definitions() -> list[Path]:
    """Return the folder of the operators' definitions, where it is here."""
    folder = shared_sets.find("kubernetes")
    return [folder] if folder else []


def test_every_rendering_is_valid_for_every_version() -> None:
    manifests = [each for name in PROFILES for each in profile(name)]
    manifests += [each for arguments in MATRIX for each in rendered(*arguments)]
    # Most objects are the same in several renderings.
    manifests = list({json.dumps(each, sort_keys=True): each for each in manifests}.values())
    answer = validated(manifests, versions=VERSIONS, folders=definitions())
    assert answer["faults"] == []
    if definitions():
        assert answer["unknown"] == []


def test_the_examples_are_valid_and_give_the_chart_what_it_asks_for() -> None:
    examples = [each for name in ("servers", "postgres", "grpcroute")
                for each in yaml.load_all((FOLDER / "examples" / f"{name}.yaml").read_text("utf-8"), Loader) if each]
    assert validated(examples, versions="1.33,1.37", folders=definitions())["faults"] == []
    services = {(each["metadata"]["name"], port["port"]) for each in (*examples, *profile("minimal"))
                if each["kind"] == "Service" for port in each["spec"]["ports"]}
    [route] = [each for each in examples if each["kind"] == "GRPCRoute"]
    [backend] = route["spec"]["rules"][0]["backendRefs"]
    assert (backend["name"], backend["port"]) in services
    assert {("s3", 9000), ("nats", 4222), ("postgres", 5432)} <= services
    [secret] = [each for each in examples if each["kind"] == "Secret"]
    wanted = {item["key"] for each in profile("minimal") if each["kind"] == "Deployment"
              for volume in each["spec"]["template"]["spec"]["volumes"] if "secret" in volume
              for item in volume["secret"]["items"]}
    assert secret["stringData"].keys() == wanted
    assert tenant_of(secret["stringData"]["first-key"]) == "default"


def test_the_route_names_every_service_of_the_gateway() -> None:
    [route] = [each for each in yaml.load_all((FOLDER / "examples" / "grpcroute.yaml").read_text("utf-8"), Loader)
               if each["kind"] == "GRPCRoute"]
    named = {match["method"]["service"] for rule in route["spec"]["rules"] for match in rule["matches"]}
    contracts = "".join(path.read_text("utf-8") for path in (ROOT / "proto" / "sourcier" / "gateway" / "v1").glob("*"))
    assert named == {f"sourcier.gateway.v1.{name}" for name in re.findall(r"^service (\w+) ", contracts, re.MULTILINE)}


def test_a_misspelt_field_is_no_valid_manifest() -> None:
    manifests = {f"{each['kind']}/{each['metadata']['name']}": each for each in profile("autoscaled")}
    manifests["Deployment/sourcier-embed"]["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    manifests["ScaledObject/sourcier-embed"]["spec"]["minReplicas"] = 1
    answer = validated(list(manifests.values()), versions="1.37", folders=definitions())
    assert any("readinesProbe" in fault for fault in answer["faults"])
    assert not definitions() or any("minReplicas" in fault for fault in answer["faults"])


@pytest.mark.parametrize(("arguments", "says"), [
    ("autoscaling.kind=kedda", "autoscaling"), ("autoscaling.lag=65", "lag"), ("setings.A=b", "setings"),
    ("settings.SOURCIER_s3=b", "SOURCIER_s3"), ("workloads.gatway.replicas=1", "gatway"),
    ("workloads.gateway.replicas=-1", "replicas"), ("workloads.gateway.graceSeconds=601", "graceSeconds"),
    ("models.source=image", "image"), ("models.embed[0].name=E5", "name"), ("listenHost=127.0.0.1", "listenHost"),
    ("secrets.keys.SOURCIER_FIRST_KEY=", "SOURCIER_FIRST_KEY"), ("secrets.keys.SOURCIER_INTERNAL_TOKEN=", "INTERNAL"),
    ("access.issuer=https://id.example.org", "audience"), ("access.issuer=http://id.example.org", "issuer"),
    ("publicUrl=rag.example.org", "publicUrl"),
    ("secrets.keys.SOURCIER_POSTGRES_URL=", "SOURCIER_POSTGRES_URL"), ("secrets.keys.SOURCIER_PASSWORD=a", "PASSWORD"),
    ("internalTls.issuer.kind=Isuer", "kind"), ("internalTls.duration=90d", "duration"),
    ("workloads.embed.resources.limits.memory=lots", "memory"), ("networkPolicy.nats.port=0", "port"),
    ("image.tag=1.2+build", "tag"), ("secrets.name=My_Secret", "name"), ("models.claim=My_Claim", "claim"),
    ("workloads.gateway.priorityClassName=High", "priorityClassName"), ("workloads.gateway.replicas=two", "replicas"),
    ("workloads.gateway.tolerations[0].operator=In", "operator"), ("labels.team=a b", "team"),
    ("secrets=null", "secrets"),
    ("workloads.gateway.nodeSelector.disk=true", "disk"), ("serviceAccountName=My_Account", "serviceAccountName"),
])
def test_a_bad_value_is_refused_by_its_name(arguments: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"values don't meet the specifications") as raised:
        render.template("--set", arguments)
    assert says in str(raised.value)


@pytest.mark.parametrize(("arguments", "says", "way_out"), [
    ("image.registry=https://registry.example.org/team", "https://registry", "without a scheme"),
    ("image.tag=latest", "latest", "name a version"),
    ("settings.SOURCIER_INTERNAL_TOKEN=word", "settings.SOURCIER_INTERNAL_TOKEN", "key in secrets.keys.SOURCIER_INTER"),
    ("workloads.web.settings.SOURCIER_WEB_SESSION_SECRET=word", "workloads.web.settings", "into the Secret sourcier"),
    ("workloads.gateway.min=7", "min=7 is above max=6", "gateway"),
    ("workloads.ingest-accept.enabled=false", "workloads.ingest-accept.enabled=false", "replicas=0"),
    ("models.generate=", "models.generate", "name one"),
    ("workloads.generate.image=generate", "image=generate", "SOURCIER_GENERATE_OPENAI_URL"),
    ("workloads.ingest-speech.enabled=true,models.speech=", "ingest-speech", "models.speech"),
    ("labels.app\\.kubernetes\\.io/name=mine", "labels.app.kubernetes.io/name", "a prefix of your own"),
])
def test_values_that_do_not_fit_are_told_with_a_way_out(arguments: str, says: str, way_out: str) -> None:
    with pytest.raises(ValueError, match=r"these values do not fit") as raised:
        render.template("--set", arguments)
    assert says in str(raised.value)
    assert way_out in str(raised.value)


def test_whatever_changes_the_job_changes_its_name() -> None:
    def name(*arguments: str) -> str:
        [job] = [each for each in rendered(*arguments) if each["kind"] == "Job"]
        return str(job["metadata"]["name"])

    changes = ("image.tag=1.2.3", "image.pullSecrets[0].name=mine", "labels.team=a", "serviceAccountName=mine",
               "migrate.resources.limits.memory=1Gi", "secrets.name=other", "image.pullPolicy=Always")
    names = [name(), *(name("--set", each) for each in changes)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_checked_in_is_what_the_chart_renders(name: str) -> None:
    for path, text in render.rendering(name).items():
        assert path.read_text("utf-8") == text, f"{path.relative_to(ROOT)}: run make deploy"


@pytest.mark.parametrize("name", PROFILES)
def test_kustomize_builds_what_is_checked_in(name: str) -> None:
    done = subprocess.run(
        [str(tools.program("kubectl")), "kustomize", str(FOLDER / "rendered" / name)], capture_output=True, text=True,
        check=True,
    )
    built = [each for each in yaml.load_all(done.stdout, Loader) if each]
    assert {(each["kind"], each["metadata"]["name"]) for each in built} == {
        (each["kind"], each["metadata"]["name"]) for each in profile(name)
    }
    assert {each["metadata"]["namespace"] for each in built} == {render.NAMESPACE}


def test_every_container_runs_what_the_package_has() -> None:
    run = {argument for each in profile("minimal") if each["kind"] in {"Deployment", "Job"}
           for made in each["spec"]["template"]["spec"]["containers"] for argument in made["args"]}
    run |= {argument for each in profile("autoscaled") if each["kind"] == "Deployment"
            for made in each["spec"]["template"]["spec"].get("initContainers", []) for argument in made["args"]}
    assert run <= SERVICES.keys()


def test_the_token_of_a_space_is_computed_as_the_services_do() -> None:
    [scaler] = [each for each in profile("autoscaled")
                if each["kind"] == "ScaledObject" and each["metadata"]["name"] == "sourcier-embed"]
    token = subjects.space_token("multilingual-e5-small-ff671f68")
    assert [trigger["metadata"]["query"] for trigger in scaler["spec"]["triggers"]] == [
        f'max(sourcier_queue_messages{{namespace="sourcier",consumer="embed_{lane}_{token}"}})'
        for lane in subjects.LANES
    ]


def test_a_change_of_settings_changes_the_hash_that_pods_carry() -> None:
    def carried(*arguments: str) -> set[str]:
        return {each["spec"]["template"]["metadata"]["annotations"]["sourcier/settings"]
                for each in rendered(*arguments) if each["kind"] == "Deployment"}

    before, after = carried(), carried("--set", "settings.SOURCIER_LOG_LEVEL=DEBUG")
    assert len(before) == len(after) == 1
    assert before != after
