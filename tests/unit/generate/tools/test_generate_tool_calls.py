"""Tool calls in a model's text: every form, cut anywhere; what is no call stays text."""

from __future__ import annotations

import json

import pytest

from sourcier.services.generate.engine import Delta, Tool, ToolCall
from sourcier.services.generate.tools.calls import CALL_CHARACTERS_MAX, ToolCallReader

SEARCH = Tool("search_knowledge_base", "Searches.", json.dumps({
    "type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query"],
}))
BARE = '{"name": "search_knowledge_base", "arguments": {"query": "frais [2] de « repas » }"}}'
ARGUMENTS = {"query": "frais [2] de « repas » }"}

FORMS = {
    "hermes": f"<tool_call>\n{BARE}\n</tool_call>",
    "hermes, not closed": f"<tool_call>\n{BARE}",
    "tools": f"<tools>\n{BARE}\n</tools>",
    "bare": BARE,
    "bare, with space": f"\n\n {BARE}\n",
    "fence": f"```json\n{BARE}\n```",
    "fence without a language": f"```\n{BARE}\n```",
    "fence around a tag": f"```xml\n<tool_call>\n{BARE}\n</tool_call>\n```",
    "doubled braces": f"<tool_call>\n{{{BARE}}}\n</tool_call>",
    "llama": "<|python_tag|>" + BARE.replace("arguments", "parameters"),
    "mistral": f"[TOOL_CALLS][{BARE}]",
    "mistral, newer": f"[TOOL_CALLS]search_knowledge_base[ARGS]{json.dumps(ARGUMENTS)}",
    "array": f"[{BARE}]",
    "openai's own": json.dumps({"type": "function", "function": {
        "name": "search_knowledge_base", "arguments": json.dumps(ARGUMENTS)}}),
    "arguments alone": json.dumps(ARGUMENTS),
    "code": 'search_knowledge_base(query="frais [2] de « repas » }")',
    "code, by position": "search_knowledge_base('frais [2] de « repas » }')",
    "cut at the end": f"<tool_call>\n{BARE[:-1]}",
    "talk before": f"<tool_call>{BARE}</tool_call>",
}


def read(*texts: str) -> tuple[str, list[ToolCall], bool]:
    """Return the text, the calls, and whether the model talked on after them."""
    reader = ToolCallReader([SEARCH])
    pieces = [piece for text in texts for piece in reader.feed(text)] + list(reader.finish())
    said = "".join(piece.text for piece in pieces if isinstance(piece, Delta))
    return said, [piece for piece in pieces if isinstance(piece, ToolCall)], reader.over


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_call_is_read_in_every_form_and_wherever_it_is_cut(form: str) -> None:
    cuts = [[form], list(form), *([form[:place], form[place:]] for place in range(1, len(form)))]
    for cut in cuts:
        said, calls, _ = read(*cut)
        assert said == "", cut
        assert [(call.name, json.loads(call.arguments)) for call in calls] == [(SEARCH.name, ARGUMENTS)], cut


@pytest.mark.parametrize("between", ["\n", "", "\n</tool_call>\n<tool_call>\n", ",\n"])
def test_several_calls_are_read(between: str) -> None:
    other = BARE.replace("frais", "congés")
    for cut in ([BARE + between + other], list(BARE + between + other)):
        said, calls, over = read(*cut)
        assert (said, len(calls), over) == ("", 2, False)
        assert len({call.id for call in calls}) == 2


def test_what_is_made_up_after_a_call_is_not_read() -> None:
    said, calls, over = read(f"<tool_call>{BARE}</tool_call>", "\n<tool_response>\nDeux jours", " par semaine.")
    assert (said, len(calls), over) == ("", 1, True)


def test_talk_before_a_tagged_call_is_text() -> None:
    text = f"Je cherche d'abord.\n<tool_call>\n{BARE}\n</tool_call>"
    for cut in ([text], list(text)):
        said, calls, _ = read(*cut)
        assert (said, len(calls)) == ("Je cherche d'abord.\n", 1)


@pytest.mark.parametrize("text", [
    "Deux jours par semaine [1].",
    "[1] Deux jours.",
    "[Source 1] dit deux jours.",
    "<b>Deux</b> jours < trois.",
    '{"réponse": "deux jours"}',
    '{"name": "another_tool", "arguments": {"query": "x"}}',
    "```python\nprint(1)\n```",
    "search_knowledge_base trouve les sources.",
    '{"query": 3, "other": 4}',
    "{ deux jours",
    "[TOOL_CALLS] n'est rien.",
    "<tool_call>rien</tool_call> et la suite",
    "search_knowledge_base(",
    "  \n",
])
def test_what_is_no_call_stays_text_wherever_it_is_cut(text: str) -> None:
    for cut in ([text], list(text)):
        said, calls, _ = read(*cut)
        assert (said, calls) == (text, [])


def test_an_answer_streams_as_it_comes() -> None:
    reader = ToolCallReader([SEARCH])
    assert list(reader.feed("Deux")) == [Delta("Deux")]
    assert list(reader.feed(" jours <")) == [Delta(" jours ")]
    assert list(reader.feed(" trois")) == [Delta("< trois")]


def test_a_call_that_never_ends_becomes_text() -> None:
    text = '{"name": "search_knowledge_base", "arguments": {"query": "' + "x" * CALL_CHARACTERS_MAX
    reader = ToolCallReader([SEARCH])
    said = "".join(piece.text for part in (text, "y" * 10) for piece in reader.feed(part) if isinstance(piece, Delta))
    assert len(said) > CALL_CHARACTERS_MAX
    assert not reader.called
