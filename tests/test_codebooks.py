"""Codebooks: from a scanned code to the card, and how a file that would give a wrong card is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.codebooks import BUILT_IN, Codebook, CodebookError, NotInDeck, load_codebook
from scannerd.core.cards import DECK
from scannerd.errors import UsageError

HERE = Path()
CODES = {f"{number:04}": card for number, card in enumerate(DECK)}


def deck_toml(cards: dict[str, str], *, name: str = '"blue"', rest: str = "") -> str:
    """A codebook file; `cards` is code, as written, to card."""
    lines = [f'{code} = "{card}"' for code, card in cards.items()]
    return "\n".join(["[deck]", f"name = {name}", "[cards]", *lines, rest]) + "\n"


def quoted(cards: Mapping[str, str] = CODES) -> dict[str, str]:
    """The codes as a person should write them."""
    return {f'"{code}"': card for code, card in cards.items()}


def problems(tmp_path: Path, text: str | bytes) -> tuple[str, ...]:
    """What is said of a file, without its directory."""
    path = tmp_path / "deck.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CodebookError) as error:
        load_codebook("deck.toml", tmp_path)
    return tuple(problem.removeprefix(f"{tmp_path}/") for problem in error.value.problems)


@pytest.mark.parametrize("book", BUILT_IN.values(), ids=BUILT_IN)
def test_built_in_holds_the_whole_deck(book: Codebook) -> None:
    """A built-in codebook has a code for each of the 52 cards."""
    assert set(DECK) == {meaning for meaning in book.meanings.values() if not isinstance(meaning, NotInDeck)}


@pytest.mark.parametrize(
    ("name", "code", "card"),
    [
        ("rank-suit", "AS", "AS"),
        ("rank-suit", "sa", "AS"),
        ("rank-suit", "h10", "TH"),
        ("rank-suit", "10C", "TC"),
        ("rank-suit", "Td", "TD"),
        ("bridge-52", "01", "AS"),
        ("bridge-52", "13", "KS"),
        ("bridge-52", "14", "AH"),
        ("bridge-52", "27", "AD"),
        ("bridge-52", "40", "AC"),
        ("bridge-52", "52", "KC"),
        ("suit-rank-digits", "1010", "AS"),
        ("suit-rank-digits", "2100", "TH"),
        ("suit-rank-digits", "3120", "QC"),
        ("suit-rank-digits", "4130", "KD"),
        ("unicode", "\U0001f0a1", "AS"),
        ("unicode", "\U0001f0ba", "TH"),
        ("unicode", "\U0001f0cb", "JD"),
        ("unicode", "\U0001f0de", "KC"),
    ],
)
def test_built_in_code_means_its_card(name: str, code: str, card: str) -> None:
    """A code of a built-in codebook means the card that its format says."""
    assert card == BUILT_IN[name].lookup(code)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("rank-suit", "A"),
        ("rank-suit", "AS "),
        ("rank-suit", "1S"),
        ("rank-suit", "0S"),
        ("rank-suit", "A\u017f"),
        ("bridge-52", "1"),
        ("bridge-52", "00"),
        ("bridge-52", "53"),
        ("suit-rank-digits", "101"),
        ("suit-rank-digits", "1140"),
        ("unicode", "\U0001f0a0"),
        ("unicode", ""),
    ],
)
def test_code_of_no_card_is_unknown(name: str, code: str) -> None:
    """A code that is not spelled out in the codebook is unknown, however near to one it is."""
    assert BUILT_IN[name].lookup(code) is None


@pytest.mark.parametrize(
    ("name", "code", "what"),
    [
        ("rank-suit", "Joker", "joker"),
        ("rank-suit", "jk", "joker"),
        ("rank-suit", "CUT", "cut"),
        ("unicode", "\U0001f0cf", "joker"),
        ("unicode", "\U0001f0bf", "joker"),
        ("unicode", "\U0001f0ac", "knight"),
    ],
)
@pytest.mark.fault(67)
def test_other_card_of_the_pack_is_known_as_such(name: str, code: str, what: str) -> None:
    """A joker, a knight or the cut card is no unknown code but a card that is not in the deck."""
    meaning = BUILT_IN[name].lookup(code)
    assert isinstance(meaning, NotInDeck)
    assert what == meaning.what


@given(st.sampled_from(sorted(BUILT_IN)), st.text(max_size=8))
def test_any_code_can_be_looked_up(name: str, code: str) -> None:
    """A lookup gives a card, a card that is not dealt or nothing for any text."""
    meaning = BUILT_IN[name].lookup(code)
    assert meaning is None or isinstance(meaning, NotInDeck) or meaning in DECK


def test_file_gives_cards_and_extras(tmp_path: Path) -> None:
    """A file's codes mean its cards, one code or more each, and its jokers are not in the deck."""
    text = deck_toml({**quoted(), '"0A"': "AS"}, rest='[extra]\n"J1" = "joker"\n"C1" = "cut"')
    (tmp_path / "deck.toml").write_text(text)
    book = load_codebook("deck.toml", tmp_path)
    assert ["blue", "AS", "AS", NotInDeck("joker"), NotInDeck("cut")] == [
        book.name,
        *map(book.lookup, ("0000", "0A", "J1", "C1")),
    ]


@pytest.mark.fault(61)
@pytest.mark.fault(62)
@pytest.mark.parametrize("code", ["88", "8804", "8804A3C6C", "8804a3c6", "08804A3C6", "8804A3C6 "])
def test_lookup_in_a_file_is_exact(tmp_path: Path, code: str) -> None:
    """A cut, padded or otherwise spelled code of a file is never taken for the card whose code it resembles."""
    cards = quoted()
    cards['"8804A3C6"'] = cards.pop('"0000"')
    (tmp_path / "deck.toml").write_text(deck_toml(cards))
    book = load_codebook("deck.toml", tmp_path)
    assert book.lookup("8804A3C6") == "AS"
    assert book.lookup(code) is None


@pytest.mark.fault(130)
def test_unquoted_codes_stay_text(tmp_path: Path) -> None:
    """A code without quotes keeps its zeros and underscores: TOML takes every key as text."""
    cards = {**quoted(), "0_012": "AS", "NO": "2H", "1_000": "4D"}
    (tmp_path / "deck.toml").write_text(deck_toml(cards))
    book = load_codebook("deck.toml", tmp_path)
    assert [book.lookup(code) for code in ("0_012", "NO", "1_000")] == ["AS", "2H", "4D"]


@pytest.mark.fault(130)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"X" = 10', 'deck.toml:4: cards."X": expected a card in quotes, rank and suit, ten as T'),
        ('"X" = false', "found False"),
        ("12:30 = 'AS'", "deck.toml:4: Expected '=' after a key"),
        ("1.5 = 'AS'", 'deck.toml:4: cards."1": a code with a dot must stand in quotes'),
        ('"X" = "10S"', "found '10S'"),
        ('"X" = "as"', "found 'as'"),
        ('"" = "AS"', 'cards."": an empty code'),
    ],
)
def test_line_that_is_no_code_and_card_is_refused(tmp_path: Path, line: str, said: str) -> None:
    """A line of a codebook that is no code with a card is refused with file, line, key and what was expected."""
    text = deck_toml(quoted()).replace("[cards]", f"[cards]\n{line}")
    (problem,) = problems(tmp_path, text)
    assert said in problem
    assert problem.startswith("deck.toml:4: ")


def test_repeated_code_is_refused_with_its_line(tmp_path: Path) -> None:
    """A code that stands in a file twice is refused with the line of the second."""
    (problem,) = problems(tmp_path, deck_toml(quoted()).replace('"0005"', '"0004"'))
    assert problem.startswith("deck.toml:9: Cannot overwrite a value; each line is a code in quotes, once only")


def test_broken_last_line_is_named(tmp_path: Path) -> None:
    """A file that breaks off is refused with its last line."""
    (problem,) = problems(tmp_path, '[deck]\nname = "blue"\n[cards]\n"0001" = ')
    assert problem.startswith("deck.toml:4: Invalid value; ")


def test_missing_cards_are_listed(tmp_path: Path) -> None:
    """A file without all 52 cards is refused and the missing ones are named."""
    cards = {code: card for code, card in CODES.items() if card not in {"TD", "2C"}}
    (problem,) = problems(tmp_path, deck_toml(quoted(cards)))
    assert problem == "deck.toml:3: cards: expected all 52 cards, not found: TD 2C; scan and add them"


def test_extra_that_is_a_card_is_refused(tmp_path: Path) -> None:
    """A code that is a card and an extra at once, or an extra of another kind, is refused."""
    rest = '[extra]\n"0000" = "joker"\n"x" = "knight"\n"y" = 3'
    found = problems(tmp_path, deck_toml(quoted(), rest=rest))
    assert list(found) == [
        'deck.toml:57: extra."0000": stands in [cards] too; one code means one thing, remove one of them',
        'deck.toml:58: extra."x": expected "joker" or "cut", found \'knight\'',
        'deck.toml:59: extra."y": expected "joker" or "cut", found 3',
    ]


def test_unknown_tables_and_keys_are_refused(tmp_path: Path) -> None:
    """A table or key that a codebook does not have is refused, all of them at once and in the file's order."""
    text = deck_toml(quoted(), name="7\nnumber = 3", rest="[card]\na = 1")
    found = [problem.partition("; ")[0].partition(", ")[0] for problem in problems(tmp_path, "extra = 1\n" + text)]
    assert found == [
        "deck.toml:1: extra: expected a table",
        'deck.toml:3: deck."name": expected a name in quotes',
        'deck.toml:4: deck."number": unknown key',
        "deck.toml:58: card: unknown table",
    ]


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """A file in another encoding than UTF-8 is refused; a byte order mark is no fault."""
    (problem,) = problems(tmp_path, b'[deck]\nname = "bl\xfc"\n')
    assert problem.startswith("deck.toml: is not UTF-8")
    (tmp_path / "marked.toml").write_text(deck_toml(quoted()), encoding="utf-8-sig")
    assert load_codebook("marked.toml", tmp_path).name == "blue"


@pytest.mark.parametrize("name", ["ranksuit", "a\x00b", "."])
def test_neither_name_nor_file_is_refused(tmp_path: Path, name: str) -> None:
    """A codebook that is neither built in nor a readable file is refused, and the built-in names are given."""
    with pytest.raises(CodebookError) as error:
        load_codebook(name, tmp_path)
    assert "or one of rank-suit, bridge-52, suit-rank-digits, unicode" in str(error.value)
    assert isinstance(error.value, UsageError)


def test_built_in_name_needs_no_file() -> None:
    """The name of a built-in codebook is taken as such."""
    assert BUILT_IN["unicode"] is load_codebook("unicode", HERE)


def test_digest_tells_decks_apart_by_content_only() -> None:
    """Two codebooks have one digest if their codes mean the same, whatever their names and the order of lines."""
    forward = Codebook("a", dict(CODES))
    backward = Codebook("b", dict(reversed(CODES.items())))
    other = Codebook("a", {**CODES, "0000": NotInDeck("joker")})
    assert forward.digest == backward.digest
    assert forward.digest != other.digest
    assert len(forward.digest) == 64
