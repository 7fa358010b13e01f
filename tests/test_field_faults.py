"""Faults seen in the field, replayed as bytes through driver, codebook and validator: what becomes of the cards."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import reduce
from operator import xor
from pathlib import Path

import pytest
from click.testing import CliRunner

from scannerd.app import broker_settings
from scannerd.cli.journal import journal
from scannerd.config import load
from scannerd.core.cards import DECK
from scannerd.core.events import ScannerWentDown
from scannerd.core.state import Rules
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines
from scannerd.registry import Registry
from scannerd.scanlog import reading
from tests.fakes import SECOND, Table
from tests.small_recordings import HEADER, write

SHOE = "shoe"
KEYS = {"A": 0x04, "C": 0x06, "H": 0x0B, "K": 0x0E, "S": 0x16, "2": 0x1F, "9": 0x26, "\n": 0x28}
"""Usage ids of keys in a boot report."""


def sent(t: float, data: bytes | str, scanner: str = SHOE) -> dict[str, object]:
    """The scanner sends `data` at `t` seconds, in one piece."""
    return {"t": t, "scanner": scanner, "rx_hex": (data.encode() if isinstance(data, str) else data).hex()}


def typed(t: float, text: str) -> list[dict[str, object]]:
    """The scanner types `text` at once: a boot report for each key that goes down, and one in which none is."""
    return [sent(t, bytes([0, 0, code, 0, 0, 0, 0, 0])) for key in text for code in (KEYS[key], 0)]


def tag(code: str) -> bytes:
    """The frame in which a reader reports a tag."""
    return b"\x02" + f"{code}{reduce(xor, bytes.fromhex(code)):02X}".encode() + b"\x03"


def pos_report(data: bytes, flag: int) -> bytes:
    """A HID POS report; `flag` is 1 where the code goes on in the next one."""
    return bytes([2, len(data), 0, 0, 0]) + data.ljust(56, b"\0") + bytes([0, 0, flag])


def happened(
    folder: Path, entries: Iterable[dict[str, object]], *, rules: dict[str, object] | None = None, **scanners: object
) -> list[str]:
    """What a recording of these entries gives, prompts among the events, each with its time; rounds begin at 0.

    Args:
        folder: where the recording lies, and its codebooks.
        entries: of the recording, without the command that opens the round.
        rules: the `[round]` parameters.
        scanners: name to options; by default `shoe` is of the driver `line`.
    """
    header = {**HEADER, "round": rules or {}, "scanners": scanners or {SHOE: {"driver": "line"}}}
    opened = {"t": 0, "command": "open", "args": {"id": "c-1"}}
    path = write(folder / "fault.scanlog", opened, *entries, {"t": 100, "end": True}, header=header)
    complaints: list[str] = []
    with reading(path, complaints.append) as found:
        played = replay_of(found.header, path, Registry(), complaints.append)
        told = [json.loads(json.dumps(line)) for line in lines(played, iter(found), prompts=True)]
    assert [] == complaints
    return [gist(line) for line in told if 0 < line["t"] < 30]


def gist(line: dict[str, object]) -> str:
    """A line of a replay in a few words: `1 accepted A1 AS`, `2 rejected bad_frame B1`, `2 rescan B1 bad_frame`."""
    prompt, data = line.get("prompt"), line.get("data")
    if isinstance(prompt, dict):
        words: tuple[object, ...] = (prompt["code"], prompt["slot"], prompt["reason"])
    else:
        assert isinstance(data, dict)
        kind = str(line["type"]).removeprefix("card_").removeprefix("scan_").removeprefix("round_")
        words = (kind, data.get("reason"), data.get("slot"), data.get("card"))
    return " ".join(str(word) for word in (line["t"], *words) if word is not None)


def cards(told: Iterable[str]) -> list[str]:
    """Slot and card of what was accepted, in order."""
    return [line.partition("accepted ")[2] for line in told if "accepted" in line]


def rejected(told: Iterable[str]) -> list[str]:
    """Reason, slot and card of what was rejected, in order."""
    return [line.partition("rejected ")[2] for line in told if "rejected" in line]


def codebook(folder: Path, **ace: str) -> dict[str, object]:
    """Writes a codebook of ten-digit codes in which AS is `code`; gives the option that names it."""
    codes = [ace["code"], *(f"{number:010X}" for number in range(1, len(DECK)))]
    text = "".join(f'"{code}" = "{card}"\n' for code, card in zip(codes, DECK, strict=True))
    (folder / "deck.toml").write_text(f'[deck]\nname = "worn"\n[cards]\n{text}')
    return {"codes": "deck.toml"}


# --- serial ---


@pytest.mark.fault(6)
def test_silence_neither_ends_nor_glues_a_card(tmp_path: Path) -> None:
    """A card split by silence is one card; what breaks off is refused as the time strikes, and asked for again."""
    parts = [sent(1, "KH"), sent(1.3, "\r\n"), sent(3, "9"), sent(3.3, "D\r\n"), sent(5, "2")]
    told = happened(tmp_path, parts)
    assert ["A1 KH", "B1 9D"] == cards(told)
    assert ["7 rejected bad_frame A2", "7 rescan A2 bad_frame"] == told[-2:]


@pytest.mark.fault(8)
def test_noise_costs_one_try_and_no_card(tmp_path: Path) -> None:
    """A frame of a wrong speed is refused for the due slot, and the card after it fills that."""
    told = happened(tmp_path, [sent(1, bytes.fromhex("7E66FA9E0D")), sent(2, "AS\r")])
    assert (["bad_frame A1"], ["A1 AS"]) == (rejected(told), cards(told))


@pytest.mark.fault(15)
def test_chatter_after_an_open_is_no_card(tmp_path: Path) -> None:
    """What a reader sends while it settles after an open is neither a card nor a try."""
    shoe = {"driver": "line", "settle_ms": 500}
    back = [{"t": 1, "scanner": SHOE, "event": "down"}, {"t": 2, "scanner": SHOE, "event": "up"}]
    told = happened(tmp_path, [*back, sent(2.4, "9D\r\nboot\r\n"), sent(2.6, "AS\r\n")], shoe=shoe)
    assert ([], ["A1 AS"]) == (rejected(told), cards(told))


@pytest.mark.fault(23)
def test_every_frame_of_one_read_counts(tmp_path: Path) -> None:
    """Frames that come in one read are as many cards; one that is interrupted costs itself and not the next."""
    told = happened(tmp_path, [sent(1, "AS\r\nKH\r\n9D\r\n")], rules={"min_gap_ms": 0})
    assert ["A1 AS", "B1 KH", "A2 9D"] == cards(told)
    framed = {"driver": "line", "start": "\x02", "end": "\x03"}
    told = happened(tmp_path, [sent(1, b"\x02AS\x03"), sent(2, b"\x02A\x02KH\x03")], shoe=framed)
    assert (["A1 AS", "B1 KH"], ["bad_frame B1"]) == (cards(told), rejected(told))


# --- scanners that type, and reports ---


@pytest.mark.fault(36)
def test_code_in_parts_is_one_code_or_none(tmp_path: Path) -> None:
    """A code in two reports is one read, a first part alone is refused in time, and a second part alone is no card."""
    first, second = pos_report(b"9" * 56, 1), pos_report(b"0123456789", 0)
    shoe = {"driver": "hid-pos"}
    rules: dict[str, object] = {"max_attempts": 0}
    told = happened(
        tmp_path, [sent(1, first), sent(1, second), sent(5, first), sent(9, second)], shoe=shoe, rules=rules
    )
    refused = [line for line in told if "rejected" in line]
    assert ["1 rejected unknown_code A1", "5.5 rejected bad_frame A1", "9 rejected unknown_code A1"] == refused


@pytest.mark.fault(51)
def test_end_key_parts_cards_not_time(tmp_path: Path) -> None:
    """Two cards typed at one moment are two, one typed slowly is one."""
    shoe = {"driver": "hid-keyboard", "source": "hidraw"}
    keys = [*typed(1, "AS\nKH\n"), *typed(3, "9"), *typed(3.4, "C\n")]
    assert ["A1 AS", "B1 KH", "A2 9C"] == cards(happened(tmp_path, keys, rules={"min_gap_ms": 0}, shoe=shoe))


@pytest.mark.fault(53)
def test_tail_of_a_broken_code_is_never_glued(tmp_path: Path) -> None:
    """A code that breaks off is refused and asked for as the time strikes; the next card is itself."""
    shoe = {"driver": "hid-keyboard", "source": "hidraw"}
    told = happened(tmp_path, [*typed(1, "9"), *typed(4, "2C\n")], shoe=shoe)
    assert ["2 rejected bad_frame A1", "2 rescan A1 bad_frame", "4 accepted A1 2C", "4 deal B1"] == told


# --- what the validator gets ---


@pytest.mark.fault(55)
def test_card_booked_twice_in_quick_succession_is_booked_once(tmp_path: Path) -> None:
    """A card that comes again after 80 ms is nothing: no event, no prompt, and the next slot stays due."""
    assert ["1 accepted A1 AS", "1 deal B1"] == happened(tmp_path, [sent(1, "AS\r"), sent(1.08, "AS\r")])


@pytest.mark.fault(57)
def test_doubled_line_ends_are_no_reads(tmp_path: Path) -> None:
    """CR and LF in any number end one card, and the empty frames between them are not told."""
    told = happened(tmp_path, [sent(1, "AS\r\r\n"), sent(2, "KH\r\n\r\n"), sent(3, "9D\n\r")])
    assert (["A1 AS", "B1 KH", "A2 9D"], []) == (cards(told), rejected(told))


@pytest.mark.fault(59)
def test_tag_that_a_poll_misses_is_one_card(tmp_path: Path) -> None:
    """A tag that every other poll misses is one card, however long it lies there."""
    pad = {"driver": "rfid-serial", **codebook(tmp_path, code="0415D0B357")}
    told = happened(tmp_path, [sent(1 + n / 2, tag("0415D0B357"), "pad") for n in range(20)], pad=pad)
    assert ["1 accepted A1 AS", "1 deal B1"] == told


@pytest.mark.fault(61)
def test_one_tag_is_one_card_on_readers_of_either_byte_order(tmp_path: Path) -> None:
    """Two readers of opposite byte order give one card; a code cut behind a cascade byte is no card at all."""
    code = "04A3C6CAE2"
    pad = {"driver": "rfid-serial", **codebook(tmp_path, code=code)}
    entries = [sent(1, tag(code), "pad"), sent(3, tag("E2CAC6A304"), "turned"), sent(5, tag("8804A3C6CA"), "pad")]
    told = happened(tmp_path, entries, pad=pad, turned={**pad, "byte_order": "reversed"})
    assert (["A1 AS"], ["duplicate B1 AS", "unknown_code B1"]) == (cards(told), rejected(told))


@pytest.mark.fault(62)
def test_short_or_altered_code_is_never_a_card(tmp_path: Path) -> None:
    """A code that is too short or has a wrong check digit is asked for again; only the right one is looked up."""
    shoe = {"driver": "line", "checksum": "mod10", "length": 9, **codebook(tmp_path, code="000221688")}
    told = happened(tmp_path, [sent(1, "000221\r"), sent(2, "0002216891\r"), sent(3, "0002216881\r")], shoe=shoe)
    assert (["bad_frame A1"] * 2, ["A1 AS"]) == (rejected(told), cards(told))
    assert "1 rescan A1 bad_frame" in told


@pytest.mark.fault(64)
def test_symbology_that_is_not_allowed_is_no_card(tmp_path: Path) -> None:
    """With allowed symbologies a retail item on the table is refused, and the card after it is read."""
    shoe = {"driver": "line", "strip_aim": True, "symbologies": ["]C1"]}
    told = happened(tmp_path, [sent(1, "]E04006381333931\r"), sent(2, "]C1AS\r")], shoe=shoe)
    assert (["bad_frame A1"], ["A1 AS"]) == (rejected(told), cards(told))


@pytest.mark.fault(67)
def test_joker_and_unknown_card_are_asked_for_by_their_slot(tmp_path: Path) -> None:
    """A joker and a strange card at B1 are refused each with its reason, and the prompt names B1 until one reads."""
    told = happened(tmp_path, [sent(1, "AS\r"), sent(2, "JOKER\r"), sent(4, "ZZ\r"), sent(6, "KH\r")])
    strange = ["2 rejected not_in_deck B1", "2 rescan B1 not_in_deck"]
    strange += ["4 rejected unknown_code B1", "4 rescan B1 unknown_code"]
    assert ["1 accepted A1 AS", "1 deal B1", *strange, "6 accepted B1 KH", "6 deal A2"] == told


@pytest.mark.fault(70)
def test_second_code_of_a_burst_never_lands_in_the_next_slot(tmp_path: Path) -> None:
    """Of two codes 20 ms apart neither stays: both are asked for again, and the round goes on with what is dealt."""
    burst = [sent(1, "AS\r"), sent(1.02, "7H\r")]
    told = happened(tmp_path, [*burst, sent(3, "AS\r"), sent(4, "KH\r")])
    assert "1.02 withdrawn multi_read A1 AS" in told
    assert (["multi_read A1 7H"], ["A1 AS", "A1 AS", "B1 KH"]) == (rejected(told), cards(told))


@pytest.mark.fault(72)
def test_worn_card_stands_out_in_the_figures(tmp_path: Path) -> None:
    """A card that is misread in five shoes, and its reader, are counted; the third failure in a row calls somebody."""
    table = Table(tmp_path, rules=Rules(min_gap_ms=0)).ready()
    for number in range(5):
        table.command("open", id=f"c-{number}")
        table.deal("AS")
        table.take(table.misread())
        table.clock.move(SECOND)
        table.deal("KH", "9D", "2C", "7S", "QH")
    table.command("open", id="c-5")
    for _ in range(3):
        table.clock.move(SECOND)
        table.take(table.misread())
    assert ["scan_rejected", "round_held"] == table.types()[-2:]
    table.stop()
    shown = CliRunner().invoke(journal, ["stats", "--json", str(tmp_path)])
    counted = json.loads(shown.stdout)
    assert (5, 0) == (counted["cards"]["KH"]["rescans"], counted["cards"]["AS"]["rescans"])
    assert 8 == counted["scanners"]["shoe"]["rejected"]


@pytest.mark.fault(117)
def test_no_reject_is_lost_among_the_words_of_an_absent_scanner(tmp_path: Path) -> None:
    """While a scanner is away for an hour each of ten misreads of the other one is an event of its own."""
    table = Table(tmp_path, rules=Rules(max_attempts=0), scanners="shoe,spare").ready("open")
    table.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    for _ in range(10):
        table.clock.move(360 * SECOND)
        table.take(table.misread("checksum", "spare"))
    assert (10, 1) == (table.types().count("scan_rejected"), table.types().count("scanner_down"))


@pytest.mark.fault(121)
def test_what_a_modem_probe_makes_a_scanner_echo_fills_no_slot(tmp_path: Path) -> None:
    """Echoed modem commands are refused, and the card after them is dealt to the slot that was due."""
    told = happened(tmp_path, [sent(1, "AT\r"), sent(2, "ERROR\r"), sent(3, "AS\r")])
    assert (["unknown_code A1", "no_read A1"], ["A1 AS"]) == (rejected(told), cards(told))


# --- mqtt ---


@pytest.mark.fault(83)
def test_client_id_is_of_table_and_installation(tmp_path: Path) -> None:
    """Two tables never have one client id at a broker, nor have two installations of one table."""
    config = tmp_path / "tp-01.toml"
    table = f'[table]\nid = "tp-01"\nstate_dir = "{tmp_path}"\n'
    config.write_text(f'{table}[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/null"\n')
    ids = {broker_settings(load(config), journal_id).client_id for journal_id in ("6f0c1111-2", "7a0d2222-3")}
    assert {"scannerd-tp-01-6f0c1111", "scannerd-tp-01-7a0d2222"} == ids
