"""The five languages: none lacks a word, and every prompt reads as a sentence in each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from typing import get_args

import pytest

from scannerd.core.cards import RANKS, SUITS
from scannerd.core.decisions import RejectReason, WithdrawReason
from scannerd.core.prompts import Code, Prompt
from scannerd.texts import LANGUAGES, SECTIONS, texts

HOLDS = ("rescan_limit", "lost_read", "restart")
REASONS = (*get_args(RejectReason), *get_args(WithdrawReason), *HOLDS)
TERMS = {
    "en": ("Player A", "supervisor", "Scanner", "round", "Round"),
    "pt": ("Jogador A", "supervisor", "leitor", "ronda", "Ronda"),
    "es": ("Jugador A", "supervisor", "escáner", "ronda", "Ronda"),
    "uk": (
        "Гравець А",  # noqa: RUF001 - the Cyrillic letter is meant
        "супервайзера",
        "Сканер",
        "раунд",
        "Раунд",
    ),
    "ms": ("Pemain A", "penyelia", "Pengimbas", "pusingan", "Pusingan"),
}
COURTS = {
    "en": "Ace King Queen Jack spades hearts diamonds clubs",
    "pt": "Ás Rei Dama Valete espadas copas ouros paus",
    "es": "As Rey Reina Jota picas corazones diamantes tréboles",
    "uk": "Туз Король Дама Валет піки чирви бубни трефи",
    "ms": "Ace Raja Ratu Pekak sped lekuk daiman kelawar",
}


def leaves(language: str) -> dict[str, str]:
    """Every text of a language's file under its dotted key."""
    parsed = tomllib.loads((files("scannerd") / "languages" / f"{language}.toml").read_text(encoding="utf-8"))
    return dict(_leaves("", parsed))


def _leaves(at: str, node: dict[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _leaves(f"{at}{key}.", value)
        else:
            yield f"{at}{key}", str(value)


def prompts() -> Iterator[Prompt]:
    """Every code with each reason, with and without a slot where the code may lack one, and with a conflict."""
    for code, reason in product(get_args(Code), (*REASONS, "shoe 2")):
        yield Prompt(code, "B2", "B", 2, reason, 2)
        yield Prompt(code, "B2", "B", 2, reason, 2, "A1")
        if code not in {"deal", "rescan"}:
            yield Prompt(code, reason=reason)
    yield Prompt("rescan", "B2", "B", 2, None, 2)
    yield Prompt("call_supervisor", "B2", "B", 2)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_language_lacks_a_text(language: str) -> None:
    """Each language has exactly the texts of English, and none is empty."""
    found = leaves(language)
    assert leaves("en").keys() == found.keys()
    assert [] == [key for key, text in found.items() if not text.strip()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_placeholders_are_those_of_english(language: str) -> None:
    """What a text has blanks for is the same in each language, so that no number or name is left out."""
    blanks = re.compile(r"\{(\w*)\}")
    found = leaves(language)
    for key, text in leaves("en").items():
        assert sorted(blanks.findall(text)) == sorted(blanks.findall(found[key])), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_and_code_has_words(language: str) -> None:
    """No prompt code and no reason of a rejection, a withdrawal or a hold is shown as the bare word of the wire."""
    words = texts(language)
    assert set() == set(REASONS) - words.reasons.keys()
    assert set() == set(get_args(Code)) - words.prompts.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_prompt_reads_as_one_line(language: str) -> None:
    """A prompt of any code with any reason is one full line: no blank is left, no end is loose."""
    words = texts(language)
    for prompt in prompts():
        told = words.sentence(prompt)
        assert " ".join(told.split()) == told, prompt
        assert set() == set("{}") & set(told), prompt
        assert told[-1] not in ":;,", prompt


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", ["deal", "rescan", "scanner_down", "scanner_error"])
def test_prompt_names_its_slot(language: str, code: Code) -> None:
    """A prompt about a slot names it in the letters that the page has for the hands."""
    words = texts(language)
    told = words.sentence(Prompt(code, "B2", "B", 2, "no_read", 2, "A1" if code == "rescan" else None))
    assert f"{words.hands['B']}2" in told
    assert (f"{words.hands['A']}1" in told) == (code == "rescan")


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_the_terms_of_the_game(language: str) -> None:
    """The dealer reads the words of the published rules, and one word for one thing."""
    words = texts(language)
    told = " ".join((*words.prompts.values(), *words.reasons.values()))
    told += words.words["page"]["player"].format(hand=words.hands["A"])
    assert [] == [term for term in TERMS[language] if term not in told]
    assert COURTS[language].split() == [words.words["cards"][key] for key in "AKQJSHDC"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_card_has_a_name(language: str) -> None:
    """A screen reader can say every card."""
    cards = texts(language).words["cards"]
    for rank, suit in product(RANKS, SUITS):
        told = cards["card"].format(rank=cards.get(rank, rank), suit=cards[suit])
        assert cards[suit] in told


def test_languages_call_themselves_differently() -> None:
    """The switch on the page offers five different names, and each file has every section."""
    assert len(LANGUAGES) == len({texts(language).name for language in LANGUAGES})
    assert [set(SECTIONS)] * len(LANGUAGES) == [set(texts(language).words) for language in LANGUAGES]


def test_free_reason_is_told_on_one_line_and_shortened() -> None:
    """A supervisor's own reason is told as it was written, on one line, as far as it fits."""
    words = texts("en")
    assert "Call the supervisor: wet card" == words.sentence(Prompt("call_supervisor", reason="wet\n card"))
    long = words.sentence(Prompt("call_supervisor", reason="x" * 500))
    assert long.endswith("x…")
    assert len(long) < 150


def test_reason_with_braces_is_text() -> None:
    """Braces in a supervisor's reason are braces."""
    assert "Call the supervisor: {slot}" == texts("en").sentence(Prompt("call_supervisor", reason="{slot}"))


def test_hands_are_players_only_where_all_are() -> None:
    """Where every hand is a player's it is called so; a game with a dealer's hand or cards of all has bare letters."""
    assert ["Jogador A", "Jogador B"] == [texts("pt").hand(hand, "AB") for hand in "AB"]
    assert ["P", "D", "C"] == [texts("pt").hand(hand, "PDC") for hand in "PDC"]
