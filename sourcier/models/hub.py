"""Ask a model hub, with a short limit, whether it answers and what it has; download in the export environment."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_ENDPOINT = "https://huggingface.co"
PROBE_SECONDS = 4.0
# What a recipe reads; repositories also carry the same weights for other frameworks.
PATTERNS = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.model", "*.txt", "*.jinja")
EXCLUDED = ("onnx/*", "openvino/*", "*/*")


@dataclass(frozen=True)
class HubModel:
    """A model as the hub describes it."""

    hub_id: str
    revision: str
    licence: str
    safetensors: bool
    size_bytes: int
    """Bytes of its weights, those a recipe would download."""


class HubRefused(Exception):
    """The hub answered, and has no such model or does not give it."""


def probe(hub_id: str, *, environment: Mapping[str, str], limit_seconds: float = PROBE_SECONDS) -> HubModel | None:
    """Return what the hub says of the model, None when no hub answers in time; HubRefused when it says no."""
    if environment.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return None
    endpoint = environment.get("HF_ENDPOINT", DEFAULT_ENDPOINT).rstrip("/")
    answers: list[HubModel | HubRefused | None] = []
    # Looking up a host name has no time limit of its own, so the limit is kept from outside.
    thread = threading.Thread(
        target=lambda: answers.append(ask(endpoint, hub_id, limit_seconds=limit_seconds)), name="hub-probe",
        daemon=True,
    )
    thread.start()
    thread.join(limit_seconds)
    answer = answers[0] if answers else None
    if isinstance(answer, HubRefused):
        raise answer
    return answer


def ask(endpoint: str, hub_id: str, *, limit_seconds: float) -> HubModel | HubRefused | None:
    import httpx  # of the services' environment; the download below runs in the export environment, which has none

    try:
        response = httpx.get(f"{endpoint}/api/models/{hub_id}", params={"blobs": "true"}, timeout=limit_seconds,
                             follow_redirects=True)
        if response.status_code in (401, 403, 404):
            return HubRefused(f"{endpoint} answers {response.status_code} for {hub_id}: no such model, or it needs an "
                              "account")
        return parse(hub_id, response.raise_for_status().json())
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, KeyError):
        return None


def parse(hub_id: str, document: Mapping[str, object]) -> HubModel:
    card = document.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else None
    siblings = document["siblings"]
    if not isinstance(siblings, list):
        raise ValueError("siblings")
    sizes = {str(entry["rfilename"]): int(entry.get("size") or 0) for entry in siblings}
    top = {name: count for name, count in sizes.items() if "/" not in name}
    safetensors = any(name.endswith(".safetensors") for name in top)
    suffix = ".safetensors" if safetensors else ".bin"
    return HubModel(hub_id=hub_id, revision=str(document["sha"]), licence=str(licence or "unknown"),
                    safetensors=safetensors, size_bytes=sum(n for name, n in top.items() if name.endswith(suffix)))


def main() -> None:
    """Download a snapshot, in the export environment.

    `python -m sourcier.models.hub HUB_ID --revision SHA --target DIR [--bin | --speech]`
    """
    from huggingface_hub import snapshot_download

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("hub_id")
    parser.add_argument("--revision", required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--bin", action="store_true", help="the repository has no safetensors")
    parser.add_argument("--speech", action="store_true", help="a speech model in the form of CTranslate2")
    arguments = parser.parse_args()
    patterns = [*PATTERNS, *(["pytorch_model*.bin"] if arguments.bin else []),
                *(["model.bin"] if arguments.speech else [])]
    snapshot_download(arguments.hub_id, revision=arguments.revision, local_dir=arguments.target,
                      allow_patterns=patterns, ignore_patterns=list(EXCLUDED))


if __name__ == "__main__":
    main()
