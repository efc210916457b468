"""Every evaluation by name: its command, about how long it takes, and whether a language model answers in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.shared_sets import DOCUMENTS, RETRIEVAL

SETS = ("piaf-shared", "cranfield", "cisi", "xquad-de", "xquad-es", "crpa-tiny")
FP32 = ("--engine", "onnxruntime-fp32")
_FOLDERS = {"sets": RETRIEVAL, "documents": DOCUMENTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One call of `python -m eval`."""

    about: str
    """What is measured, in a few words."""
    arguments: tuple[str, ...]
    """The command and its options; of `{sets}/…` and `{documents}/…` the folder is filled in."""
    minutes: int
    """About how long it takes on two cores, from nothing."""
    language_model: bool = False
    """Whether the stack's own language model answers."""

    def command(self, data: Path, *, report: bool) -> list[str]:
        """Return what follows `python -m eval`, for a folder of data."""
        folders = {name: data / folder for name, folder in _FOLDERS.items()}
        return [*(each.format(**folders) for each in self.arguments), *(() if report else ("--no-report",))]

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return what it reads of a folder of data, each once, for example `retrieval/piaf-shared`."""
        found = (re.fullmatch(r"{(\w+)}/(.+)", each) for each in self.arguments)
        return tuple(dict.fromkeys(f"{_FOLDERS[each[1]]}/{each[2]}" for each in found if each))


def _data(*names: str, option: str = "--data") -> tuple[str, ...]:
    return tuple(part for name in names for part in (option, f"{{sets}}/{name}"))


EVALUATIONS: Mapping[str, Evaluation] = {
    "retrieval": Evaluation(
        about="dense, full-text, fused and re-ranked search, six sets in four languages",
        arguments=("retrieval", *_data(*SETS)), minutes=45,
    ),
    "retrieval-fp32": Evaluation(
        about="the same in full precision, 50 candidates re-ranked, PIAF alone",
        arguments=("retrieval", *_data("piaf-shared"), "--candidates", "50", *FP32), minutes=30,
    ),
    "retrieval-int8": Evaluation(
        about="the same by the machine's default engine",
        arguments=("retrieval", *_data("piaf-shared"), "--candidates", "50"), minutes=25,
    ),
    "parts": Evaluation(
        about="what each part of retrieval brings", arguments=("parts", *_data("piaf-shared"), *FP32), minutes=40,
    ),
    "codes": Evaluation(
        about="what token codes of one bit lose", arguments=("codes", *_data("piaf-shared"), *FP32), minutes=15,
    ),
    "sentences": Evaluation(
        about="the check of an answer's sentences", arguments=("sentences", *_data("piaf-shared")), minutes=10,
    ),
    "refusals": Evaluation(
        about="what is refused before a language model is asked, and what that loses",
        arguments=(
            "refusals", "--offline", *_data("piaf-shared"),
            *_data("crpa-tiny", "xquad-es", "cranfield", option="--other"),
            *_data("xquad-de", "cisi", option="--far"),
            "--translated", "{sets}/xquad-de", "{sets}/xquad-es", "--translated", "{sets}/xquad-es", "{sets}/xquad-de",
            "--sheets", "{documents}/service-public-fiches",
        ),
        minutes=15,
    ),
    "attacks": Evaluation(
        about="orders hidden in documents, with a model that obeys every one", arguments=("attacks",), minutes=5,
    ),
    "answers": Evaluation(
        about="whole answers: sources, facts, refusals, direct answers, follow-ups",
        arguments=("answers", *_data("piaf-shared")), minutes=25, language_model=True,
    ),
    "attacks-real": Evaluation(
        about="orders hidden in documents, with the stack's own language model",
        arguments=("attacks", "--model", "real"), minutes=35, language_model=True,
    ),
    "tools": Evaluation(
        about="whether that model searches when it is asked to", arguments=("tools",), minutes=30, language_model=True,
    ),
    "analyses": Evaluation(
        about="whether that model's analysis of a question helps", arguments=("analyses",), minutes=30,
        language_model=True,
    ),
    "answerable": Evaluation(
        about="what that model as a judge adds to refusals", arguments=("answerable", *_data("piaf-shared")),
        minutes=20, language_model=True,
    ),
}
EVERYTHING = "all"
