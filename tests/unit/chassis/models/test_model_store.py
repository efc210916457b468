"""The model store: manifests, verification, the identity of a space."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import (
    Manifest,
    ModelFile,
    ModelStore,
    default_root,
    manifest_from_json,
    manifest_to_json,
    root_of,
)

CONTENT = b"weights"


def manifest(**changes: object) -> Manifest:
    digest = hashlib.sha256(CONTENT).hexdigest()
    files = {name: ModelFile(sha256=digest, size_bytes=len(CONTENT)) for name in ("model.onnx", "token_mean.npy")}
    whole = Manifest(
        name="multilingual-e5-small", kind="embedding", revision="r1", source="folder e5", licence="MIT", files=files,
        exporter="optimum-onnx", exporter_version="0.1.0", variants={"fp32": "model.onnx"}, token_limit=512,
        dimension=384, query_prefix="query: ", passage_prefix="passage: ", pooling="mean", token_mean="token_mean.npy",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def put(root: Path, model: Manifest) -> Path:
    folder = root / model.name
    folder.mkdir(parents=True)
    for name in model.files:
        (folder / name).write_bytes(CONTENT)
    (folder / "manifest.json").write_text(json.dumps(manifest_to_json(model)), encoding="utf-8")
    return folder


def test_a_manifest_survives_json() -> None:
    whole = manifest(facts={"inputs": ["input_ids"]})
    assert manifest_from_json(manifest_to_json(whole)) == whole


def test_a_whole_model_loads(tmp_path: Path) -> None:
    folder = put(tmp_path, manifest())
    model = ModelStore(tmp_path).load("multilingual-e5-small")
    assert model.path == folder
    assert model.variant("fp32") == folder / "model.onnx"
    assert model.file("token_mean.npy") == folder / "token_mean.npy"


def test_a_missing_model_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(ModelInvalid, match=r"run `sourcier models fetch multilingual-e5-small`"):
        ModelStore(tmp_path).load("multilingual-e5-small")


@pytest.mark.parametrize("name", ["../secret", "a/b", "", ".hidden", "Upper"])
def test_a_name_cannot_leave_the_root(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelInvalid, match="not a model name"):
        ModelStore(tmp_path).load(name)


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    folder = put(tmp_path, manifest())
    (folder / "model.onnx").write_bytes(b"weighty")
    expected, found = (hashlib.sha256(content).hexdigest() for content in (CONTENT, b"weighty"))
    with pytest.raises(ModelInvalid, match="fetch") as caught:
        ModelStore(tmp_path).load("multilingual-e5-small")
    assert all(part in str(caught.value) for part in ("model.onnx", expected, found, "fetch --force"))


def test_a_cut_file_is_found(tmp_path: Path) -> None:
    folder = put(tmp_path, manifest())
    (folder / "model.onnx").write_bytes(CONTENT[:-1])
    with pytest.raises(ModelInvalid, match=r"has 6 bytes, its manifest says 7"):
        ModelStore(tmp_path).load("multilingual-e5-small")


def test_a_lost_file_is_found(tmp_path: Path) -> None:
    (put(tmp_path, manifest()) / "model.onnx").unlink()
    with pytest.raises(ModelInvalid, match="cannot be read"):
        ModelStore(tmp_path).load("multilingual-e5-small")


@pytest.mark.parametrize("text", [
    "", "[]", "null", '{"schema": 2}', "not json",
    json.dumps({**manifest_to_json(manifest()), "kind": "vision"}),
    json.dumps({**manifest_to_json(manifest()), "unknown": 1}),
    json.dumps({**manifest_to_json(manifest()), "token_weights": "absent.npy"}),
    json.dumps({**manifest_to_json(manifest()), "files": {"../x": {"sha256": "", "size_bytes": 0}}}),
])
def test_a_damaged_manifest_is_an_error_not_a_crash(tmp_path: Path, text: str) -> None:
    (put(tmp_path, manifest()) / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelInvalid, match=r"is not a manifest of schema 1"):
        ModelStore(tmp_path).load("multilingual-e5-small")


def test_an_unknown_variant_names_those_there_are(tmp_path: Path) -> None:
    put(tmp_path, manifest())
    with pytest.raises(ModelInvalid, match="it has fp32"):
        ModelStore(tmp_path).load("multilingual-e5-small").variant("int4")


def test_the_list_skips_what_is_being_made(tmp_path: Path) -> None:
    put(tmp_path, manifest())
    put(tmp_path, manifest(name=".other.partial-1"))
    (tmp_path / "empty").mkdir()
    assert [entry.name for entry in ModelStore(tmp_path).list()] == ["multilingual-e5-small"]
    assert ModelStore(tmp_path / "absent").list() == ()


def test_precisions_share_a_space() -> None:
    fp32 = manifest(token_statistics="recipe 1")
    int8 = replace(fp32, variants={"int8": "model.onnx"}, exporter_version="0.2.0")
    assert fp32.space_id == int8.space_id
    assert fp32.space_id.startswith("multilingual-e5-small-")


@pytest.mark.parametrize("change", [
    {"name": "multilingual-e5-base"}, {"revision": "r2"}, {"dimension": 768}, {"query_prefix": ""},
    {"passage_prefix": "p: "}, {"pooling": "cls"}, {"token_statistics": "recipe 2"},
])
def test_what_changes_vectors_changes_the_space(change: dict[str, object]) -> None:
    before = {"token_statistics": "recipe 1"}
    assert manifest(**{**before, **change}).space_id != manifest(**before).space_id


def test_other_kinds_have_no_space() -> None:
    with pytest.raises(ModelInvalid, match="only embedding models"):
        _ = manifest(kind="language").space_id


def test_the_usual_place_follows_xdg() -> None:
    assert default_root({"XDG_CACHE_HOME": "/c"}) == Path("/c/sourcier/models")
    assert default_root({"HOME": "/h"}) == Path("/h/.cache/sourcier/models")


def test_the_store_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert root_of({"SOURCIER_MODELS_DIR": "/m", "XDG_CACHE_HOME": "/c"}) == Path("/m")
    # A shell leaves it as it is between quotes, and so does a file of variables.
    assert root_of({"SOURCIER_MODELS_DIR": "~/m"}) == Path("/h/m")
    assert root_of({"SOURCIER_MODELS_DIR": "", "XDG_CACHE_HOME": "/c"}) == Path("/c/sourcier/models")


def test_a_precision_by_name_is_a_space_of_its_own(tmp_path: Path) -> None:
    put(tmp_path, manifest(variants={"fp32": "model.onnx", "int8": "model.onnx"}))
    store = ModelStore(tmp_path)
    any_precision, fp32, int8 = (
        store.load(f"multilingual-e5-small{suffix}").manifest for suffix in ("", "@fp32", "@int8")
    )
    assert any_precision.space_id == manifest().space_id
    assert len({entry.space_id for entry in (any_precision, fp32, int8)}) == 3
    assert int8.label == "multilingual-e5-small@int8"
    assert int8.space_id.startswith("multilingual-e5-small-int8-")
    assert store.describe("multilingual-e5-small@fp32").space_id == fp32.space_id
    assert manifest_to_json(int8) == manifest_to_json(any_precision)


@pytest.mark.parametrize("name", ["multilingual-e5-small@bf16", "multilingual-e5-small@"])
def test_a_precision_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, manifest())
    with pytest.raises(ModelInvalid, match="it has fp32"):
        ModelStore(tmp_path).load(name)
