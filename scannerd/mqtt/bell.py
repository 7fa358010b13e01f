"""A bell that ends the wait of a loop in another thread; rung twice before it is heard, it rings once.

To ring costs a system call and often a change of threads, so a bell that has rung already is not rung again. The order
in `heard` matters: the socket is emptied first, and only then may the bell be rung again. The other way round, a ring
while it is emptied would be lost with its byte, and with it every later one, for the bell would be thought to ring.
"""

from __future__ import annotations

import contextlib
import socket

_BYTES = 4096


class Bell:
    """Anybody may `ring`; one thread waits on `fileno` and says `heard` before it looks at what it was called for."""

    def __init__(self, pair: tuple[socket.socket, socket.socket] | None = None) -> None:
        """Makes a pair of sockets, unless one is handed in: the ear, then the mouth."""
        self._ear, self._mouth = socket.socketpair() if pair is None else pair
        self._ear.settimeout(0)
        self._mouth.settimeout(0)
        self._rung = False

    def fileno(self) -> int:
        """The descriptor that can be read once it has rung."""
        return self._ear.fileno()

    def ring(self) -> None:
        """Ends the wait; never blocks, from any thread."""
        if self._rung:
            return
        self._rung = True
        with contextlib.suppress(OSError):  # full: it rings already; closed: nobody listens any more
            self._mouth.send(b"\0")

    def heard(self) -> None:
        """It has rung: what was asked for until here is to be looked at now; what comes from here on rings anew."""
        with contextlib.suppress(BlockingIOError):
            while len(self._ear.recv(_BYTES)) == _BYTES:
                pass
        self._rung = False

    def close(self) -> None:
        """Closes both ends."""
        self._ear.close()
        self._mouth.close()
