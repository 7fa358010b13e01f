"""What every decoder must stand: bytes whole, split, joined, half, spoiled, without end, and any bytes at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from operator import add

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scannerd.contract import Micros
from scannerd.driver_contract.case import AT, DriverCase, expect
from scannerd.driver_contract.feeding import READINGS, codes, feed, held, rest, silence, spoiled, told
from scannerd.driver_help import options

SECOND: Micros = 1_000_000
LONG: Micros = 3600 * SECOND
"""Longer than any time-out."""

_STEPS = (0, 1, 20_000, 150_000, 600_000, 3 * SECOND)
_LOAD = 64 * 1024
_PIECE = 4096

searched = settings(
    max_examples=120,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""How the kit searches for bytes that break a decoder."""


class DecoderContract(DriverCase):
    """Tests of the pure part of a driver."""

    def test_driver_is_found_and_described(self) -> None:
        """A driver is found by its name, and each of its options has a description."""
        found = self.load()
        expect(found.name == self.name, f"its class is named {found.name!r}, its entry point {self.name!r}")
        bare = [option.name for option in options(found) if not option.description]
        expect(not bare, f"options without a description: {', '.join(bare)}")

    def test_nothing_is_sent_unless_configured(self) -> None:
        """A driver without options of its own sends its scanner nothing on any outcome."""
        found = self.load()
        required = any(option.required for option in options(found))
        driver = self.driver if required else found(found.Options())
        for outcome in ("accepted", "rejected", "prompt"):
            data = driver.feedback(outcome)
            expect(data == b"", f"{data!r} would be sent on {outcome!r}")

    # --- whole, split, joined -----------------------------------------------------------------------------------

    def test_frame_is_its_code(self) -> None:
        """A whole frame is its code, with its bytes, and leaves nothing behind."""
        expect(len(self.frames) > 1, "two frames or more are needed")
        for code in self.frames:
            decoder, chunks = self.decoder(), self.chunks(code)
            made = told(feed(decoder, chunks))
            expect(codes(made) == [code] and len(made) == 1, f"{chunks!r} is not read as {code!r} alone but as {made}")
            raw = made[0].raw
            expect(0 < len(raw) <= len(b"".join(chunks)), f"`raw` of {code!r} is not its frame: {raw!r}")
            expect(decoder.pending == b"", f"after {chunks!r} there is something pending: {decoder.pending!r}")

    def test_frames_joined(self) -> None:
        """Frames that follow each other without a pause are each read, in their order."""
        chunks = [chunk for code in self.frames for chunk in self.chunks(code)]
        sent = chunks if self.reports else [b"".join(chunks)]
        found = codes(feed(self.decoder(), sent))
        expect(found == list(self.frames), f"{sent!r} is read as {found}")

    def test_frame_split(self) -> None:
        """A frame in two or many pieces is read as the whole; a piece of a report is refused and told."""
        for code in self.frames:
            for chunks in _cut_reports(self.chunks(code)) if self.reports else _cut(self.chunks(code)[0]):
                made = told(feed(self.decoder(), chunks))
                if self.reports:
                    expect(made, f"{chunks!r}, a report in two pieces, is taken without a word")
                else:
                    expect(codes(made) == [code] and len(made) == 1, f"{chunks!r} is read as {made}, not as {code!r}")

    def test_any_bytes_split_anywhere(self) -> None:
        """Whatever the bytes, it makes no difference how they were cut; of reports, two decoders make the same."""

        @searched
        @given(self._pieces(), st.data())
        def check(pieces: list[bytes], data: st.DataObject) -> None:
            whole = b"".join(pieces)
            cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=8)))
            again = pieces if self.reports else [whole[a:b] for a, b in pairwise([0, *cuts, len(whole)])]
            one, other = self.decoder(), self.decoder()
            first, second = feed(one, pieces if self.reports else [whole]), feed(other, again)
            expect(first == second, f"{whole!r} cut into {again!r} is read as {second}, whole as {first}")
            expect(rest(one) == rest(other), f"{whole!r} cut into {again!r} leaves {rest(other)}, whole {rest(one)}")

        check()

    def test_decoders_know_nothing_of_each_other(self) -> None:
        """What one decoder was fed makes no difference to another."""
        for half in self.halves():
            feed(self.decoder(), half)
            self.test_frame_is_its_code()

    # --- any bytes ----------------------------------------------------------------------------------------------

    def test_any_bytes_at_any_time(self) -> None:
        """Any bytes at any times are taken without an exception, and make readings."""

        @searched
        @given(self._pieces(), st.lists(st.sampled_from(_STEPS), max_size=40), st.binary(max_size=80))
        def check(pieces: list[bytes], steps: list[Micros], more: bytes) -> None:
            decoder, t = self.decoder(), AT
            for chunk, step in zip([*pieces, more, b""] * 3, steps, strict=False):
                t += step
                made = [*decoder.tick(t - step // 2), *decoder.feed(chunk, t)]
                expect(all(isinstance(one, READINGS) for one in made), f"{chunk!r} made {made}, no readings")
                expect(len(decoder.pending) <= self.cap, f"pending are {len(decoder.pending)} bytes, over {self.cap}")
            expect(not codes(decoder.finish(t)), "a card was made of what was pending when the device was lost")
            expect(rest(decoder) == (b"", None), f"after `finish` it waits with {rest(decoder)}")

        check()

    def test_garbage_is_told(self) -> None:
        """Bytes that belong to no frame are told, at the latest after silence."""
        size = len(self.chunks(next(iter(self.frames)))[0])
        wrong = st.binary(min_size=1, max_size=40)
        ends = st.sampled_from([b"", *(self.chunks(code)[-1][-1:] for code in self.frames)])

        @searched
        @given(wrong.filter(lambda chunk: len(chunk) != size) if self.reports else st.builds(add, wrong, ends))
        def check(garbage: bytes) -> None:
            decoder = self.decoder()
            made = told(feed(decoder, [garbage]) + silence(decoder))
            expect(made or self.may_be_ignored([garbage]), f"{garbage!r} is lost without a word")

        check()

    def test_reads_again_after_garbage(self) -> None:
        """After any bytes and silence, the next frame is read."""
        code = next(iter(self.frames))
        spoken = sorted({byte for frame in self.frames for chunk in self.chunks(frame) for byte in chunk})
        # Bytes of the device's own language among any: pure noise would hardly ever end a frame.
        noise = st.lists(st.sampled_from(spoken) | st.integers(0, 255), min_size=1, max_size=40).map(bytes)

        @searched
        @given(noise.filter(lambda chunk: not self.reports or len(chunk) % 8))
        def check(garbage: bytes) -> None:
            decoder = self.decoder()
            feed(decoder, [garbage])
            silence(decoder)
            found = codes(feed(decoder, self.chunks(code), AT + LONG))
            expect(found == [code], f"after {garbage!r} and silence, the frame of {code!r} is read as {found}")

        check()

    # --- half, spoiled and endless frames -----------------------------------------------------------------------

    def test_half_frame_is_told_in_time(self) -> None:
        """Half a frame has a deadline, is told then, and becomes no card; a loss of the device would name it."""
        for half in self.halves():
            decoder = self.decoder()
            before = told(feed(decoder, half))
            pending, due = rest(decoder)
            expect(due is not None or not pending, f"{half!r} waits without a deadline, to be glued to the next frame")
            after = told(silence(decoder))
            expect(after or not pending, f"{half!r} is dropped without a word")
            expect(not codes(after), f"{half!r} became a card by silence: {after}")
            expect(pending or not after or self._told_by_finish(half), f"a loss of the device would hide {half!r}")
            heard = before or after or self.reports or self.may_be_ignored(half)
            expect(heard, f"{half!r} is lost without a word")

    def test_deadline_is_kept_however_late_it_is_told(self) -> None:
        """A deadline is decided before what comes after it, whether `tick` was called or not; never before its time."""
        for half in self.halves():
            punctual, late = self.decoder(), self.decoder()
            first, second = feed(punctual, half), feed(late, half)
            due = punctual.deadline
            expect(due is None or not punctual.tick(due - 1), f"{half!r} was decided before its deadline")
            first += silence(punctual) + feed(punctual, half, AT + LONG)
            second += feed(late, half, AT + LONG)
            expect(first == second, f"{half!r} twice, told of the deadline, is {first}, else {second}")

    def test_spoiled_frame_is_told(self) -> None:
        """A frame with a byte or report too few, too many or wrong is told, whatever it is taken for."""
        for code in self.frames:
            for chunks in spoiled(self.chunks(code), reports=self.reports):
                decoder = self.decoder()
                made = told(feed(decoder, chunks) + silence(decoder))
                expect(made or self.may_be_ignored(chunks), f"{chunks!r} is lost without a word")

    def test_frame_without_end_is_told(self) -> None:
        """A frame that never ends is told and not kept."""
        for load in self._loads():
            decoder = self.decoder()
            made = []
            for at, chunk in enumerate(load):
                made += told(decoder.feed(chunk, AT + at))
                expect(len(decoder.pending) <= self.cap, f"pending are {len(decoder.pending)} bytes, over {self.cap}")
            made += told(silence(decoder))
            expect(made or self.may_be_ignored(load), f"{b''.join(load)[:40]!r}… is lost without a word")

    def test_memory_is_bounded(self) -> None:
        """However much is fed, a decoder holds no more than its share."""
        for load in self._loads():
            decoder = self.decoder()
            fresh = held(decoder)
            for at, chunk in enumerate(load):
                decoder.feed(chunk, AT + at)
            grown = held(decoder) - fresh
            size = sum(map(len, load))
            expect(
                grown <= self.keeps, f"{size} bytes like {load[0][:20]!r} made it grow by {grown}, over {self.keeps}"
            )

    # --- what is fed --------------------------------------------------------------------------------------------

    def _pieces(self) -> st.SearchStrategy[list[bytes]]:
        """Frames, beginnings of frames, and bytes that look like theirs."""
        whole = [chunk for code in self.frames for chunk in self.chunks(code)]
        letters = sorted(set(b"".join(whole)))
        alike = st.lists(st.sampled_from(letters), max_size=len(whole[0])).map(bytes)
        pieces = [st.sampled_from(whole), alike, st.binary(max_size=12)]
        if self.reports:
            size = len(whole[0])
            pieces.append(st.binary(min_size=size, max_size=size))
        else:
            pieces.append(st.sampled_from([half[0] for half in self.halves()]))
        return st.lists(st.one_of(pieces), max_size=12)

    def _loads(self) -> Iterator[list[bytes]]:
        """A great many bytes: a frame without end, beginnings and frames again and again, every byte."""
        whole = self.chunks(next(iter(self.frames)))
        middle = whole[len(whole) // 2] if self.reports else whole[0][len(whole[0]) // 2 :][:1]
        begun = whole[: len(whole) // 2] if self.reports else [whole[0][: len(whole[0]) // 2]]
        every = [chunk for code in self.frames for chunk in self.chunks(code)]
        for repeated in ([middle], begun or whole, every, [bytes(range(256))]):
            times = _LOAD // sum(map(len, repeated)) + 1
            load = [*begun, *(repeated * times)]
            yield load if self.reports else _pieces_of(b"".join(load))

    def _told_by_finish(self, half: Sequence[bytes]) -> bool:
        decoder = self.decoder()
        feed(decoder, half)
        return bool(told(decoder.finish(AT)))


def _cut(frame: bytes) -> Iterator[list[bytes]]:
    """A frame in two pieces, cut anywhere, and byte by byte."""
    yield [bytes([byte]) for byte in frame]
    yield from ([frame[:at], frame[at:]] for at in range(1, len(frame)))


def _cut_reports(reports: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Reports of which one is in two pieces."""
    for at, report in enumerate(reports):
        half = len(report) // 2
        yield [*reports[:at], report[:half], report[half:], *reports[at + 1 :]]


def _pieces_of(data: bytes) -> list[bytes]:
    ends = accumulate([_PIECE] * (len(data) // _PIECE + 1))
    return [data[end - _PIECE : end] for end in ends]
