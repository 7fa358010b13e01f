"""How the table stands, in one line for `systemctl status`."""

from __future__ import annotations

from scannerd.core.state import State
from scannerd.systemd import Notifier


class StatusLine:
    """Tells systemd the line when it is another one."""

    def __init__(self, table: str, notifier: Notifier) -> None:
        """Tells nothing yet."""
        self._table, self._notifier = table, notifier
        self._told = ""

    def show(self, state: State) -> None:
        """Looks at the table; to be called once a second or so."""
        line = f"Table {self._table}: {standing(state)}"
        if line != self._told:
            self._told = line
            self._notifier.status(line)


def standing(state: State) -> str:
    """The phase, the round, the due slot, and what is not as it should be."""
    parts: list[str] = [state.phase]
    if state.round is not None:
        parts.append(f"round {state.round.id}")
    if state.due is not None:
        parts.append(f"{state.due.name} is due")
    parts += [f"scanner {name} is down" for name, standing in state.scanners.items() if standing == "down"]
    if not state.broker_up:
        parts.append("the broker is away")
    return ", ".join(parts)
