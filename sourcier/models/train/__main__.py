"""`python -m sourcier.models.train reader`: fit the reader anew.

Runs in the export environment. `--base` is the embedding model as a Hugging Face folder
(`python -m sourcier.models.exports.packed_e5`), `--data` the folder with `retrieval` and `sentences`.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path
from random import Random
from shutil import copy

from sourcier.models.train.measuring import table
from sourcier.models.train.network import Encoder, Fitting, describe, fit, load, probabilities
from sourcier.models.train.pairs import Pairs
from sourcier.models.train.sources import read_sources

SETS = (
    "piaf-shared", "travail-faq", "travail-siblings", "conventions-articles", "travail-requetes",
    "service-public-questions", "xquad-de", "xquad-es",
)
WINDOW_TOKENS = 160


def main() -> None:
    """Fit, measure on the held half, save."""
    parser = argparse.ArgumentParser(prog="python -m sourcier.models.train", description=__doc__)
    parser.add_argument("model", choices=["reader"])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="go on from what an earlier training left in its target")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=75.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frozen-layers", type=int, default=6)
    parser.add_argument("--measured", type=int, default=1500, help="pairs of the held half that are measured")
    options = parser.parse_args()

    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    encoder = Encoder(options.base)
    model = load(options.start or options.base, frozen_layers=options.frozen_layers)
    pairs = iter(Pairs(read_sources(options.data, sets=SETS), Random(options.seed)))
    options.target.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        copy(options.base / name, options.target / name)
    fitting = Fitting(seconds=options.minutes * 60)
    seen = fit(model, encoder, pairs, fitting, random=Random(options.seed), checkpoint=options.target)
    model.save_pretrained(options.target)
    describe(options.target, window_tokens=WINDOW_TOKENS, frozen_layers=options.frozen_layers)
    held = list(islice(Pairs(read_sources(options.data, sets=SETS, held=True), Random(1)), options.measured))
    print(table(held, probabilities(model, encoder, held)))
    print(f"{seen} pairs in {options.minutes:g} minutes", file=sys.stderr)


if __name__ == "__main__":
    main()
