"""Settings: which engine is meant, what it lacks, what vLLM is told; and where weights are found."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.services.chassis import settings as chassis_settings
from sourcier.services.chassis.errors import FailedPrecondition, ModelInvalid
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.generate import settings
from sourcier.services.generate.settings import RESERVED_CORES, GenerateSettings, engine_environment
from sourcier.services.generate.vllm.engine import VllmEngine, VllmOptions, engine_arguments
from sourcier.services.generate.vllm.processor import cpu_flags, cpu_vendor, fastest_dtype
from sourcier.services.generate.vllm.weights import Weights, locate


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENGINE", "MODEL", "OPENAI_URL", "OPENAI_KEY", "OPENAI_MODEL", "SCRIPT_FILE"):
        monkeypatch.delenv(f"SOURCIER_GENERATE_{name}", raising=False)


def test_vllm_is_the_default() -> None:
    settings = GenerateSettings()
    assert (settings.engine_name, settings.model) == ("vllm", "qwen2.5-coder-1.5b-instruct")


async def test_an_environment_without_vllm_says_how_to_come_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # As an import finds it where it is not installed.
    monkeypatch.setitem(sys.modules, "vllm", None)
    options = VllmOptions(dtype="auto", compile="off", context_tokens_max=64, sequences_max=1, kv_cache_gib=0)
    says = "not installed .*requirements/install.py generate.*.venv/generate/bin/python.*SOURCIER_GENERATE_OPENAI_URL"
    with pytest.raises(FailedPrecondition, match=says):
        async with VllmEngine(Weights(location="nowhere", name="model"), options):
            pass


def test_a_url_chooses_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_GENERATE_OPENAI_URL", "http://localhost:11434/v1")
    monkeypatch.setenv("SOURCIER_GENERATE_OPENAI_MODEL", "mistral-small")
    assert GenerateSettings().engine_name == "openai"


@pytest.mark.parametrize(("environment", "says"), [
    ({"ENGINE": "openai"}, "SOURCIER_GENERATE_OPENAI_URL is not set"),
    ({"OPENAI_URL": "http://x/v1"}, "SOURCIER_GENERATE_OPENAI_MODEL is not set"),
    ({"OPENAI_URL": "localhost:80", "OPENAI_MODEL": "m"}, "SOURCIER_GENERATE_OPENAI_URL"),
    ({"ENGINE": "scripted"}, "SOURCIER_GENERATE_SCRIPT_FILE is not set"),
    ({"COMPLETION_TOKENS_DEFAULT": "600", "COMPLETION_TOKENS_MAX": "500"}, "is over"),
    ({"ENGINE": "llama"}, "SOURCIER_GENERATE_ENGINE=llama"),
])
def test_what_an_engine_lacks_is_one_clear_line(
    environment: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"SOURCIER_GENERATE_{name}", value)
    with pytest.raises(SystemExit):
        chassis_settings.load(GenerateSettings)
    printed = capsys.readouterr().err
    assert says in printed
    assert printed.count("\n") == 1


def test_the_key_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_GENERATE_OPENAI_KEY", "sk-secret")
    assert "sk-secret" not in repr(GenerateSettings())


def test_vllm_goes_online_only_for_a_hub_id() -> None:
    assert engine_environment(GenerateSettings(), from_hub=False)["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in engine_environment(GenerateSettings(), from_hub=True)


@pytest.mark.parametrize(("cores", "usable", "told"), [
    (2, 2, {"VLLM_CPU_OMP_THREADS_BIND": "auto", RESERVED_CORES: "0"}),
    (4, 4, {"VLLM_CPU_OMP_THREADS_BIND": "auto", RESERVED_CORES: "0"}),
    (8, 8, {"VLLM_CPU_OMP_THREADS_BIND": "auto"}),
    (64, 2, {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "2"}),
])
def test_a_small_machine_and_a_quota_are_used_whole(
    monkeypatch: pytest.MonkeyPatch, cores: int, usable: int, told: dict[str, str]
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(settings, "usable_cores", lambda: usable)
    for name in (RESERVED_CORES, "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    environment = engine_environment(GenerateSettings(), from_hub=False)
    assert {name: value for name, value in environment.items() if "CPU" in name or "OMP" in name} == told


def test_what_the_environment_says_of_cores_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(settings, "usable_cores", lambda: 2)
    monkeypatch.setenv(RESERVED_CORES, "1")
    assert RESERVED_CORES not in engine_environment(GenerateSettings(), from_hub=False)
    monkeypatch.setattr(settings, "usable_cores", lambda: 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert engine_environment(GenerateSettings(), from_hub=False)["OMP_NUM_THREADS"] == "3"
    bound = GenerateSettings(threads_bind="0-1")
    assert engine_environment(bound, from_hub=False)["VLLM_CPU_OMP_THREADS_BIND"] == "0-1"


@pytest.mark.parametrize(("vendor", "flags", "dtype"), [
    ("GenuineIntel", "fpu avx512f avx512_bf16 amx_bf16", "bfloat16"),
    ("GenuineIntel", "fpu avx512f avx512_vnni avx512_bf16", "float32"),
    ("AuthenticAMD", "fpu avx512f avx512_vnni avx512_bf16", "bfloat16"),
    ("AuthenticAMD", "fpu avx2", "float32"),
])
def test_bfloat16_is_for_processors_that_compute_in_it(tmp_path: Path, vendor: str, flags: str, dtype: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
    assert fastest_dtype(cpu_flags(cpuinfo), vendor=cpu_vendor(cpuinfo)) == dtype


def test_a_processor_that_does_not_name_itself_computes_by_its_flags(tmp_path: Path) -> None:
    arm = tmp_path / "cpuinfo"
    arm.write_text("processor\t: 0\nFeatures\t: fp asimd bf16\n")
    assert fastest_dtype(cpu_flags(arm), vendor=cpu_vendor(arm)) == "bfloat16"
    absent = tmp_path / "absent"
    assert fastest_dtype(cpu_flags(absent), vendor=cpu_vendor(absent)) == "float32"


def test_tokens_are_guessed_from_the_prompt_where_that_is_asked_for() -> None:
    options = VllmOptions(dtype="auto", compile="auto", context_tokens_max=4096, sequences_max=8, kv_cache_gib=1.0)
    on_cpu = engine_arguments("model", options, context_tokens_max=2048, on_cpu=True)
    assert (on_cpu["speculative_config"], on_cpu["max_num_batched_tokens"]) == (None, 512)
    assert engine_arguments("model", options, context_tokens_max=2048, on_cpu=False)["max_num_batched_tokens"] is None
    asked = engine_arguments("model", replace(options, speculative_tokens=4), context_tokens_max=2048, on_cpu=True)
    assert asked["speculative_config"]["method"] == "ngram"
    assert asked["speculative_config"]["num_speculative_tokens"] == 4


def test_weights_are_a_folder_a_hub_id_or_in_the_model_store(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    (tmp_path / "mine").mkdir()
    with pytest.raises(ModelInvalid, match=r"no config\.json"):
        locate(str(tmp_path / "mine"), store=store)
    (tmp_path / "mine" / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}))
    mine = locate(str(tmp_path / "mine"), store=store)
    assert (mine.name, mine.token_limit, mine.from_hub) == ("mine", 2048, False)
    assert locate("org/model", store=store).from_hub
    with pytest.raises(ModelInvalid, match="sourcier models fetch absent"):
        locate("absent", store=store)
