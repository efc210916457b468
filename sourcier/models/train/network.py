"""The reader's network: the embedding model's encoder, whose upper half and a head are fitted to pairs."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from sourcier.models.train.pairs import CONTRADICTED, NOT_CONTRADICTED, NOT_TOLD, SUPPORTED, Pair

LABELS = {SUPPORTED: "entailment", NOT_TOLD: "neutral", CONTRADICTED: "contradiction"}
TOKENS_MAX = 160
POOL_BATCHES = 40
"""So many batches are sorted by length together: little of a batch is padding, and its pairs are of all kinds."""


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """How long and how fast is learned."""

    seconds: float
    batch_tokens: int = 2048
    rate: float = 1.2e-4
    warm_up: float = 0.04
    smoothing: float = 0.04
    report_seconds: float = 180.0


def load(base: Path, *, frozen_layers: int) -> Any:
    """Return the encoder with a head of three labels; its embeddings and lower layers are not fitted."""
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=len(LABELS), id2label=LABELS, label2id={name: label for label, name in LABELS.items()},
        attn_implementation="sdpa",
    )
    for name, parameter in model.named_parameters():
        layer = name.split("encoder.layer.")[1].split(".")[0] if "encoder.layer." in name else ""
        parameter.requires_grad = "embeddings" not in name and not (layer and int(layer) < frozen_layers)
    return model


class Encoder:
    """Turns pairs into the model's inputs: the window first, then question and sentence as one text."""

    def __init__(self, base: Path) -> None:
        """Load the tokenizer; of the two texts the window is cut."""
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS_MAX, strategy="longest_first")

    def ids(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """Return token ids of each pair."""
        texts = [(pair.window, f"{pair.question} {pair.sentence}".strip()) for pair in pairs]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]


def fit(
    model: Any, encoder: Encoder, pairs: Iterator[Pair], fitting: Fitting, *, random: Random, checkpoint: Path
) -> int:
    """Fit the model until the time is over; return how many pairs it has read. It is saved as it goes."""
    import torch

    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=fitting.rate, weight_decay=0.01, betas=(0.9, 0.98))
    started = told = time.monotonic()
    seen, loss_sum, loss_count = 0, 0.0, 0
    model.train()
    for ids, labels in _batches(encoder, pairs, tokens=fitting.batch_tokens, random=random):
        share = (time.monotonic() - started) / fitting.seconds
        if share >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = fitting.rate * min(1.0, share / fitting.warm_up) * (1 - share)
        loss = _loss(model(**_tensors(ids)).logits, torch.tensor(labels), smoothing=fitting.smoothing)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seen, loss_sum, loss_count = seen + len(ids), loss_sum + float(loss.detach()), loss_count + 1
        if time.monotonic() - told > fitting.report_seconds:
            told = time.monotonic()
            mean = loss_sum / loss_count
            print(f"{told - started:.0f} s: {seen} pairs, loss {mean:.4f}", file=sys.stderr, flush=True)
            loss_sum, loss_count = 0.0, 0
            model.save_pretrained(checkpoint)
    model.eval()
    return seen


def probabilities(model: Any, encoder: Encoder, pairs: Sequence[Pair], *, batch: int = 32) -> list[list[float]]:
    """Return the three probabilities of each pair."""
    import torch

    all_ids = encoder.ids(pairs)
    order = sorted(range(len(pairs)), key=lambda at: len(all_ids[at]))
    found: list[list[float]] = [[] for _ in pairs]
    with torch.no_grad():
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            logits = model(**_tensors([all_ids[at] for at in places])).logits
            for at, row in zip(places, torch.softmax(logits, -1).tolist(), strict=True):
                found[at] = row
    return found


def describe(folder: Path, *, window_tokens: int, frozen_layers: int) -> None:
    """Say in the model's configuration how the reader is asked."""
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["sourcier_reader"] = {"hypothesis": "{question} {sentence}", "window_tokens": window_tokens,
                                 "frozen_layers": frozen_layers}
    path.write_text(json.dumps(config, indent=1), "utf-8")


def _batches(
    encoder: Encoder, pairs: Iterator[Pair], *, tokens: int, random: Random
) -> Iterator[tuple[list[list[int]], list[int]]]:
    """Give batches of about so many tokens, of pairs of like length."""
    while True:
        pool = list(islice(pairs, POOL_BATCHES * 24))
        labels = [pair.label for pair in pool]
        items = sorted(zip(encoder.ids(pool), labels, strict=True), key=lambda item: len(item[0]))
        batches, batch = [], list[tuple[list[int], int]]()
        for item in items:
            if batch and len(item[0]) * (len(batch) + 1) > tokens:
                batches.append(batch)
                batch = []
            batch.append(item)
        batches.append(batch)
        random.shuffle(batches)
        for each in batches:
            yield [ids for ids, _ in each], [label for _, label in each]


def _tensors(ids: Sequence[Sequence[int]]) -> dict[str, Any]:
    import torch

    length = max(map(len, ids))
    padded = torch.tensor([[*row, *[1] * (length - len(row))] for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in ids])
    return {"input_ids": padded, "attention_mask": mask}


def _loss(logits: Any, labels: Any, *, smoothing: float) -> Any:
    """Return the mean cross entropy; of pairs that are known not to be contradicted, of that alone."""
    import torch
    from torch.nn import functional

    logs = functional.log_softmax(logits, -1)
    known = labels != NOT_CONTRADICTED
    single = functional.cross_entropy(logits[known], labels[known], label_smoothing=smoothing, reduction="sum")
    either = torch.logsumexp(logs[~known][:, [SUPPORTED, NOT_TOLD]], -1)
    floor = math.log(1 - smoothing)
    return (single - either.clamp(max=floor).sum()) / len(labels)
