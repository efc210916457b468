"""Write tiny models with random weights in Hugging Face form: `python -m tests.integration.models.tiny DIR`.

Run by the tests of the recipes in the export environment, which has PyTorch. Each kind has a folder, where
`expected.npz` lies beside the model: an input and what PyTorch makes of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sourcier.models import calibration

LAYERS: dict[str, Any] = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 130,
}


def main(parent: Path) -> None:
    builders = {
        "cross-encoder": cross_encoder, "entailment": entailment, "embedding": embedding, "language": language,
    }
    # In one process: PyTorch and transformers take longer to import than all of the models to make.
    for kind, build in builders.items():
        save_model(build, parent / kind)
    save_reader(parent / "embedding", parent / "reader")


def save_model(build: Callable[[dict[str, Any]], Any], folder: Path) -> None:
    import torch

    torch.manual_seed(7)
    tokenizer = save_tokenizer(folder)
    model = build({**LAYERS, "vocab_size": tokenizer.get_vocab_size()}).eval()
    model.save_pretrained(folder)
    encoding = tokenizer.encode("Le pont fut ouvert", "en automne")
    with torch.no_grad():
        outputs = model(input_ids=torch.tensor([encoding.ids]), attention_mask=torch.tensor([encoding.attention_mask]))
    np.savez(folder / "expected.npz", ids=encoding.ids, outputs=outputs[0].numpy())


def save_tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(calibration.paragraphs(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    fast: Any = PreTrainedTokenizerFast
    fast(tokenizer_object=tokenizer, model_max_length=128, bos_token="<s>", cls_token="<s>", eos_token="</s>",
         sep_token="</s>", pad_token="<pad>", unk_token="<unk>").save_pretrained(folder)
    return tokenizer


def cross_encoder(settings: dict[str, Any]) -> Any:
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    config: Any = XLMRobertaConfig
    return XLMRobertaForSequenceClassification(config(**settings, num_labels=1, pad_token_id=1))


def entailment(settings: dict[str, Any]) -> Any:
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    config: Any = XLMRobertaConfig
    # In the order of the mDeBERTa models; others have contradiction first.
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    return XLMRobertaForSequenceClassification(config(**settings, num_labels=3, id2label=labels, pad_token_id=1))


def embedding(settings: dict[str, Any]) -> Any:
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaModel

    model = XLMRobertaModel(XLMRobertaConfig(**settings, pad_token_id=1), add_pooling_layer=False)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            # Trained ones differ; as they begin, all zero, the exporter would make one constant of them.
            torch.nn.init.normal_(parameter, std=0.1)
        elif name.endswith("LayerNorm.weight"):
            torch.nn.init.normal_(parameter, mean=1.0, std=0.1)
    return model


def save_reader(base: Path, folder: Path) -> None:
    """Write what training the reader leaves: the embedding model with another last layer, and a head."""
    import json

    import torch
    from safetensors.torch import save_file
    from transformers import XLMRobertaModel

    torch.manual_seed(11)
    folder.mkdir()
    encoder: Any = XLMRobertaModel.from_pretrained(base, add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in encoder.encoder.layer[1].parameters():
            parameter += torch.randn_like(parameter) * 0.2
    head = {"pooler.dense.weight": torch.randn(64, 64) * 0.3, "pooler.dense.bias": torch.randn(64),
            "classifier.weight": torch.randn(3, 64), "classifier.bias": torch.randn(3)}
    state = {f"bert.{name}": tensor.contiguous() for name, tensor in encoder.state_dict().items()} | head
    save_file(state, folder / "model.safetensors")
    labels = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    asked = {"hypothesis": "{question} {sentence}", "window_tokens": 160, "frozen_layers": 1}
    (folder / "config.json").write_text(json.dumps({"id2label": labels, "sourcier_reader": asked}), "utf-8")
    ids = np.load(base / "expected.npz")["ids"]
    with torch.no_grad():
        first = encoder(input_ids=torch.tensor([ids])).last_hidden_state[:, 0]
        pooled = torch.tanh(first @ head["pooler.dense.weight"].T + head["pooler.dense.bias"])
        logits = pooled @ head["classifier.weight"].T + head["classifier.bias"]
    np.savez(folder / "expected.npz", ids=ids, outputs=logits.numpy())


def language(settings: dict[str, Any]) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return Qwen2ForCausalLM(Qwen2Config(**settings, tie_word_embeddings=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
