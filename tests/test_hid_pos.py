"""HID POS scanners: one report a chunk, codes in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.contract import BadFrame, CardRead, Notice
from scannerd_drivers.hid_pos import CODE_CAP, REPORT_SIZE, HidPosDecoder, HidPosDriver, HidPosOptions
from scannerd_drivers.transports.hidraw import HidrawTransport
from scannerd_drivers.transports.usb_device import UsbTransport
from tests.decoding import codes, feed_split, gist
from tests.playing import Timed, micros, play


def decoder(**options: object) -> HidPosDecoder:
    """A fresh decoder with these options."""
    return HidPosDecoder(HidPosOptions.model_validate(options))


def report(data: bytes, *, flag: int = 0, aim: bytes = b"]C1", report_id: int = 2, length: int | None = None) -> bytes:
    """A report of 64 bytes."""
    head = bytes([report_id, len(data) if length is None else length]) + aim + data
    return head.ljust(REPORT_SIZE - 1, b"\0") + bytes([flag])


FULL = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"


def test_one_report() -> None:
    """A report with flag 0 is a code, its padding and AIM identifier left out."""
    whole = report(b"AS")
    assert feed_split(decoder, [whole]) == [CardRead("AS", raw=whole)]


@pytest.mark.parametrize(("aim", "code"), [(b"]C1", "]C1AS"), (b"\0\0\0", "AS")])
def test_aim_kept(aim: bytes, code: str) -> None:
    """Without `strip_aim` the code begins with the AIM identifier, where there is one."""
    assert codes(feed_split(lambda: decoder(strip_aim=False), [report(b"AS", aim=aim)])) == [code]


@pytest.mark.fault(36)
def test_code_in_two_reports() -> None:
    """Two reports of which the first is continued are one code."""
    parts = [report(FULL, flag=1), report(b"0123456789")]
    (reading,) = feed_split(decoder, parts)
    assert reading == CardRead(FULL.decode() + "0123456789", raw=b"".join(parts))


@pytest.mark.fault(36)
def test_missing_part() -> None:
    """A continuation that does not come in time is partial at that time, and no card."""
    told = play(decoder(), [(1, report(FULL, flag=1))], until=3)
    assert told == [(1.5, "bad partial")]


@pytest.mark.fault(36)
def test_orphan_part() -> None:
    """A continuation that comes too late is dropped, and so are those shortly after it."""
    entries: list[Timed] = [
        (1, report(FULL, flag=1)),
        (1.9, report(FULL, flag=1)),
        (2.3, report(b"AS")),
        (2.8, report(b"KH")),
    ]
    assert play(decoder(), entries) == [(1.5, "bad partial"), (1.9, "notice other"), (2.3, "notice other"), (2.8, "KH")]


def test_deadline_comes_before_the_part() -> None:
    """A continuation that comes when the time is over is dropped with the partial."""
    told = play(decoder(), [(1, report(FULL, flag=1)), (1.5, report(b"AS"))])
    assert told == [(1.5, "bad partial"), (1.5, "notice other")]


def test_continue_timeout_option() -> None:
    """`continue_timeout_ms` sets how long a continuation may take."""
    told = play(decoder(continue_timeout_ms=2000), [(1, report(b"A", flag=1)), (2.9, report(b"S"))])
    assert told == [(2.9, "AS")]


@pytest.mark.parametrize("size", [1, 8, 63, 65, 128])
def test_other_size(size: int) -> None:
    """A chunk of another size is no report, and the next report is read."""
    chunk = report(b"AS")[:1] * size
    assert feed_split(decoder, [chunk, report(b"KH")]) == [BadFrame("report", chunk), CardRead("KH", raw=report(b"KH"))]


def test_other_size_inside_a_code() -> None:
    """A chunk of another size inside a code breaks the code, and its rest is dropped."""
    told = play(decoder(), [(1, report(b"A", flag=1)), (1.1, b"\x02"), (1.2, report(b"S")), (1.8, report(b"KH"))])
    assert told == [(1.1, "bad report"), (1.2, "notice other"), (1.8, "KH")]


def test_nothing_is_nothing() -> None:
    """An empty chunk is no report of the wrong size."""
    assert feed_split(decoder, [b""]) == []


def test_other_report_id() -> None:
    """A report with another id is a notice, also between the parts of a code."""
    other = report(b"xx", report_id=3)
    told = feed_split(decoder, [report(b"A", flag=1), other, report(b"S")])
    assert told == [Notice("other", "report 03", other), CardRead("AS", raw=report(b"A", flag=1) + report(b"S"))]
    assert codes(feed_split(lambda: decoder(report_id=3), [other])) == ["xx"]


@pytest.mark.parametrize("aim", [b"]X0", b"]Z6"])
def test_answers(aim: bytes) -> None:
    """An AIM identifier that marks an answer makes a notice."""
    assert feed_split(decoder, [report(b"ok", aim=aim)]) == [Notice("answer", "ok", report(b"ok", aim=aim))]


@pytest.mark.parametrize("broken", [report(b"AS", length=57), report(b""), report(b"AS", flag=2)])
def test_malformed(broken: bytes) -> None:
    """A report whose length or flag is impossible, or that holds nothing, is malformed."""
    assert feed_split(decoder, [broken]) == [BadFrame("malformed", broken)]


def test_after_a_malformed_report() -> None:
    """What follows a malformed report is read, unless the report says that it is its continuation."""
    assert gist(feed_split(decoder, [report(b""), report(b"AS")])) == ["bad malformed", "AS"]
    told = gist(feed_split(decoder, [report(b"", flag=1), report(b"AS")]))
    assert told == ["bad malformed", "notice other"]


def test_malformed_part() -> None:
    """A code is refused whole with its malformed part."""
    parts = [report(b"A", flag=1), report(b"S", length=60)]
    assert feed_split(decoder, parts) == [BadFrame("malformed", b"".join(parts))]


@pytest.mark.parametrize(("aim", "word"), [(b"]C1", "AS"), (b"\0\0\0", "AS"), (b"]E0", "bad malformed")])
def test_symbology_of_parts(aim: bytes, word: str) -> None:
    """Parts with different AIM identifiers are never joined; later parts may have none."""
    assert gist(feed_split(decoder, [report(b"A", flag=1), report(b"S", aim=aim)])) == [word]


def test_overlong() -> None:
    """A code of more than 256 characters is refused once, and its further parts are dropped."""
    parts = [report(b"0" * 56, flag=1)] * 4
    assert codes(feed_split(decoder, [*parts, report(b"0" * 32)])) == ["0" * CODE_CAP]
    assert gist(feed_split(decoder, [*parts, report(b"0" * 33)])) == ["bad overlong"]
    told = gist(feed_split(decoder, [*parts, parts[0], parts[0], report(b"AS")]))
    assert told == ["bad overlong", "notice other", "notice other"]


def test_loss_of_the_device() -> None:
    """When the scanner is lost, half a code is dropped and not told."""
    subject = decoder()
    subject.feed(report(FULL, flag=1), micros(1))
    assert (subject.pending, subject.deadline) == (report(FULL, flag=1), micros(1.5))
    assert subject.tick(micros(1.4)) == []
    assert subject.finish(micros(1.4)) == []
    assert (subject.pending, subject.deadline) == (b"", None)


REPORTS = st.binary(max_size=70) | st.builds(
    report,
    st.binary(max_size=56),
    flag=st.integers(0, 2),
    aim=st.sampled_from([b"]C1", b"]E0", b"]X0", b"\0\0\0"]),
    report_id=st.sampled_from([2, 3]),
)


@given(st.lists(st.tuples(st.integers(0, 700), REPORTS)))
def test_any_bytes(entries: list[tuple[int, bytes]]) -> None:
    """Any chunks are taken, and no more than a code in parts is kept."""
    subject, now = decoder(), 0
    for gap, chunk in entries:
        now += gap * 1000
        subject.feed(chunk, now)
        assert len(subject.pending) <= CODE_CAP * REPORT_SIZE
    subject.finish(now)


def test_driver() -> None:
    """The driver reads reports from USB or from a hidraw node, and from nothing that splits them."""
    driver = HidPosDriver(HidPosOptions())
    assert codes(driver.decoder(0).feed(report(b"AS"), 1)) == ["AS"]
    assert isinstance(driver.transport("usb:0c2e:0b61"), UsbTransport)
    assert isinstance(driver.transport("/dev/scannerd/gun"), HidrawTransport)
    with pytest.raises(ValueError, match="hid-pos reads"):
        driver.transport("tcp://127.0.0.1:4001")
    assert driver.reports
