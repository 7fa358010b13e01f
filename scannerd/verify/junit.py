"""The outcome of a verification as JUnit XML, which every CI system shows: a test case for each recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from scannerd.verify.outcome import Outcome


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Writes the report.

    Raises:
        OSError: the file can't be written.
    """
    suite = ET.Element(
        "testsuite",
        name="scannerd verify",
        tests=str(len(outcomes)),
        failures=str(sum(bool(one.differences) for one in outcomes)),
        errors=str(sum(one.error is not None for one in outcomes)),
        skipped="0",
        time=f"{sum(one.seconds for one in outcomes):.3f}",
    )
    suite.extend(map(_case, outcomes))
    root = ET.Element("testsuites")
    root.append(suite)
    path.write_bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _case(outcome: Outcome) -> ET.Element:
    recording = outcome.recording
    names = {"classname": _text(str(recording.parent)), "name": _text(recording.stem), "file": _text(str(recording))}
    case = ET.Element("testcase", names, time=f"{outcome.seconds:.3f}")
    if outcome.error is not None:
        ET.SubElement(case, "error", message=_text(outcome.error))
    if outcome.differences:
        first = outcome.differences[0].partition("\n")[0]
        texts = [*outcome.differences, *filter(None, [outcome.explanation])]
        ET.SubElement(case, "failure", message=_text(first)).text = _text("\n".join(texts))
    if outcome.warnings:
        ET.SubElement(case, "system-err").text = _text("\n".join(outcome.warnings))
    return case


def _text(text: str) -> str:
    """XML holds no control characters but tab and line end, not even escaped."""
    return "".join(char if char.isprintable() or char in "\t\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
