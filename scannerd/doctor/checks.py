"""The checks, a row each, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from scannerd.doctor.brokers import ask_brokers, judge_brokers
from scannerd.doctor.findings import Finding, fail
from scannerd.doctor.machine import judge_machine, look_at_machine
from scannerd.doctor.ports import judge_ports, look_at_ports
from scannerd.doctor.site import Site
from scannerd.doctor.storage import judge_journal, judge_storage, look_at_journal, look_at_storage

FactsT = TypeVar("FactsT")


class Examination(Protocol):
    """A check of whatever kind of facts."""

    @property
    def group(self) -> str:
        """The heading under which its findings stand."""

    def run(self, site: Site) -> list[Finding]:
        """Looks and judges."""


@dataclass(frozen=True, slots=True)
class Check(Generic[FactsT]):
    """A probe and a judgement of what it brings.

    Attributes:
        group: the heading under which its findings stand.
        gather: looks, and judges nothing.
        judge: makes findings of the facts; pure.
    """

    group: str
    gather: Callable[[Site], FactsT]
    judge: Callable[[FactsT], Iterable[Finding]]

    def run(self, site: Site) -> list[Finding]:
        """Looks and judges; where the looking itself fails, that is the finding."""
        try:
            facts = self.gather(site)
        except OSError as error:
            return [fail("probe", f"can't be looked at: {error}", "run as root, or as the daemon's user")]
        return list(self.judge(facts))


CHECKS: tuple[Examination, ...] = (
    Check("machine", look_at_machine, judge_machine),
    Check("scanners", look_at_ports, judge_ports),
    Check("state", look_at_storage, judge_storage),
    Check("journal", look_at_journal, judge_journal),
    Check("broker", ask_brokers, judge_brokers),
)
"""All checks, the quick ones first."""


def examine(site: Site, checks: Iterable[Examination]) -> Iterator[tuple[str, list[Finding]]]:
    """Runs checks one after the other; gives each group with its findings as soon as they are there."""
    for check in checks:
        yield check.group, check.run(site)
