"""Models that read two texts together, exported to ONNX: their tokenizer, their inputs, their session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.gpu import gpu_present, open_session, runs_on_gpu, tell_unused
from sourcier.services.chassis.models.store import Model

INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})

FloatArray = npt.NDArray[np.float32]


class PairModel:
    """Gives logits for pairs of texts, of which one is cut where both are too long together."""

    def __init__(self, model: Model, *, threads: int, cut: Literal["only_first", "only_second"]) -> None:
        """Load the model; raise ModelInvalid where its manifest or its graph is not that of such a model."""
        from tokenizers import Tokenizer

        manifest = model.manifest
        if manifest.token_limit < 1:
            raise ModelInvalid(
                f"the manifest of {manifest.name} says token_limit {manifest.token_limit}; a model that reads two "
                "texts needs the number of tokens that it reads", model=manifest.name,
            )
        self.name = manifest.name
        self.revision = manifest.revision
        self.token_limit = manifest.token_limit
        self._tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
        self._tokenizer.enable_truncation(self.token_limit, strategy=cut)
        self._tokenizer.enable_padding(pad_id=self._tokenizer.token_to_id("<pad>") or 0)
        self.path, self._session = _open(model, threads=threads)
        self._inputs = {entry.name for entry in self._session.get_inputs()}

    @property
    def output_shape(self) -> Sequence[int | str | None]:
        """Shape of the graph's first output; sizes that vary have a name, or none."""
        shape: Sequence[int | str | None] = self._session.get_outputs()[0].shape
        return shape

    def in_batches(self, pairs: Sequence[tuple[str, str]], *, batch_texts_max: int) -> list[FloatArray]:
        """Return the logits of each pair, read so many at a time; raise as `logits`."""
        # Neighbours in length share a batch, so that little is padded.
        order = sorted(range(len(pairs)), key=lambda place: sum(map(len, pairs[place])))
        found: dict[int, FloatArray] = {}
        for start in range(0, len(order), batch_texts_max):
            batch = order[start : start + batch_texts_max]
            found.update(zip(batch, self.logits([pairs[place] for place in batch]), strict=True))
        return [found[place] for place in range(len(pairs))]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Return logits, shape (pairs, outputs); ValueError where the text that is never cut is too long."""
        encodings = self._encode(list(pairs))
        feed = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
        }
        output: FloatArray = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        return output.reshape(len(encodings), -1)

    def _encode(self, pairs: list[tuple[str, str]]) -> Sequence[Any]:
        try:
            encodings: Sequence[Any] = self._tokenizer.encode_batch(pairs)
        except Exception as error:
            # The library has no class for it; cutting the one text to nothing does not make room.
            if "Truncation error" not in str(error):
                raise
            raise ValueError("no room") from error
        return encodings


def _open(model: Model, *, threads: int) -> tuple[Path, Any]:
    """Return the file that is run and its session: fp32 on a GPU, else int8 where there is one."""
    name, variants = model.manifest.name, model.manifest.variants
    # On a GPU most nodes of int8 would be left to the processor.
    if "fp32" in variants and gpu_present():
        path = model.variant("fp32")
        session = _open_session(path, model=name, threads=threads, on_gpu=True)
        if runs_on_gpu(session):
            return path, session
        tell_unused("rerank", name)
    path = model.variant("int8" if "int8" in variants else "fp32")
    return path, _open_session(path, model=name, threads=threads, on_gpu=False)


def _open_session(path: Path, *, model: str, threads: int, on_gpu: bool) -> Any:
    """Load a graph; raise ModelInvalid unless it reads tokens and gives logits for each pair of texts."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False
    try:
        session = open_session(path, options, on_gpu=on_gpu)
    except (state.Fail, state.InvalidProtobuf, state.InvalidGraph, state.NotImplemented) as error:
        raise ModelInvalid(f"{path} of {model} cannot be loaded: {error}", model=model) from error
    if unknown := {entry.name for entry in session.get_inputs()} - INPUTS:
        raise ModelInvalid(
            f"{path} wants {', '.join(sorted(unknown))}; a model of two texts reads {', '.join(sorted(INPUTS))}",
            model=model,
        )
    output = session.get_outputs()[0]
    if len(output.shape) > 2:
        raise ModelInvalid(
            f"{path} gives {output.name} of shape {output.shape}; a model of two texts gives one row a pair",
            model=model,
        )
    return session
