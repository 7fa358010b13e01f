"""The outcome of a verification as Markdown, fit for the summary of a job at GitHub or a comment at GitLab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from scannerd.verify.outcome import Outcome
from scannerd.verify.summary import changes_in_words, figures, update_in_words

MOST_BYTES = 900_000
"""A job's summary at GitHub holds a mebibyte, and one that is larger is not shown at all."""


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Appends the report: the summary of a job is one file for all its steps.

    Raises:
        OSError: the file can't be written.
    """
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(report(outcomes))


def report(outcomes: Sequence[Outcome]) -> str:
    """The figures, a table of the recordings that are not as expected, the details of each, and what was updated."""
    wrong = [one for one in outcomes if one.error is not None or one.differences]
    parts = [
        f"## Recordings: {'not as expected' if wrong else 'as expected'}\n\n{figures(outcomes)}\n",
        _table(wrong) if wrong else "",
        *_details(wrong),
        _updates(outcomes),
    ]
    kept, size = [], 0
    for part in filter(None, parts):
        size += len(part.encode(errors="replace"))
        if size > MOST_BYTES:
            kept.append("What follows is left out; the report for machines (`--junit`) has it.\n")
            break
        kept.append(part)
    return "\n".join(kept)


def _table(wrong: Sequence[Outcome]) -> str:
    rows = "".join(f"| {_cell(str(one.recording))} | {_verdict(one)} | {_cell(_first(one))} |\n" for one in wrong)
    return f"| recording | | first of it |\n| --- | --- | --- |\n{rows}"


def _verdict(outcome: Outcome) -> str:
    return "unusable" if outcome.error is not None else f"{len(outcome.differences)} different"


def _first(outcome: Outcome) -> str:
    return outcome.error if outcome.error is not None else outcome.differences[0].partition("\n")[0]


def _cell(text: str) -> str:
    """A cell's text, in which nothing is taken for markup."""
    return f"`` {text.replace('|', chr(92) + '|')} ``" if "`" in text else f"`{text.replace('|', chr(92) + '|')}`"


def _details(wrong: Sequence[Outcome]) -> Iterator[str]:
    for one in wrong:
        texts = [*one.differences, *filter(None, [one.explanation, one.error])]
        yield _folded(str(one.recording), "\n".join(texts))


def _updates(outcomes: Sequence[Outcome]) -> str:
    lines = [line for one in outcomes for updated in one.updated for line in update_in_words(updated)]
    lines = changes_in_words(outcomes) + lines
    return _folded("What was updated", "\n".join(lines)) if lines else ""


def _folded(title: str, text: str) -> str:
    title, text = escape(title, quote=False), escape(text, quote=False)
    return f"<details><summary>{title}</summary>\n\n<pre>{text}</pre>\n</details>\n"
