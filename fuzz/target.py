"""What a target of the fuzzer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

RECORDINGS = Path(__file__).resolve().parent.parent / "tests" / "recordings"
"""Our corpus: what the search begins with."""


class Kept(NamedTuple):
    """What was found, as a file that a person can read, replay and keep.

    Attributes:
        suffix: what its name ends with.
        content: what it holds.
        advice: how to see the fault again, and what to do with the file.
    """

    suffix: str
    content: bytes
    advice: str


class Target(ABC):
    """Something that takes what others wrote.

    Attributes:
        name: by which it is chosen.
        about: what is tried, in a few words.
        longest: no input is longer than so many bytes.
    """

    name: str
    about: str
    longest: int = 4096

    @abstractmethod
    def seeds(self) -> Iterable[bytes]:
        """Inputs to begin with, from the corpus."""

    def words(self) -> Iterable[bytes]:
        """Pieces of which inputs of this kind are made, to be put in anywhere."""
        return ()

    @abstractmethod
    def check(self, data: bytes) -> None:
        """Tries an input; any exception is a fault that was found."""

    @abstractmethod
    def kept(self, data: bytes) -> Kept:
        """The input as a file."""


class BrokenPromiseError(AssertionError):
    """Something does not do what it must, for this input. Whoever changed it last must look."""


def expect(holds: object, otherwise: str, *details: object) -> None:
    """Goes on if something holds.

    Args:
        holds: what must be true.
        otherwise: what is said else, with `{}` for each of the details: they are only written out then.
        details: any values.

    Raises:
        BrokenPromiseError: it does not hold.
    """
    if not holds:
        raise BrokenPromiseError(otherwise.format(*details))


def quiet(text: str) -> None:
    """Takes the warnings of a reader of recordings, which are no fault."""
    del text
