"""The supervisor's PIN: kept as a scrypt hash in a file, and locked after five wrong tries.

The lock holds for everyone: behind one table there is one door, and an address is easily changed. Who is signed in
already stays so. A try is counted before it is checked, so that many at once are no way around it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from pathlib import Path

TRIES = 5
"""Wrong tries in a row that lock."""

LOCKED_US = 5 * 60 * 1_000_000
"""Microseconds for which the lock holds."""

SHORTEST, LONGEST = 6, 64
"""Characters of a PIN."""

_N, _R, _P = 1 << 15, 8, 1
_MEMORY = 64 << 20
_SALT = 16
_KIND = "scrypt"


def hashed(pin: str) -> str:
    """The line that a PIN file holds: `scrypt$N$r$p$salt$hash`, salt and hash in base64.

    Raises:
        ValueError: the PIN is too short or too long.
    """
    if not SHORTEST <= len(pin) <= LONGEST:
        raise ValueError(f"expected {SHORTEST} to {LONGEST} characters")
    salt = secrets.token_bytes(_SALT)
    told = (base64.b64encode(part).decode() for part in (salt, _derived(pin, salt, _N, _R, _P)))
    return "$".join((_KIND, str(_N), str(_R), str(_P), *told))


def fits(pin: str, line: str) -> bool:
    """Whether a PIN is the one that was hashed; takes about 0.1 s on purpose.

    Raises:
        ValueError: the line is none that `hashed` made.
    """
    kind, n, r, p, salt, told = line.strip().split("$")
    if kind != _KIND:
        raise ValueError(f"unknown kind of hash {kind!r}")
    expected = base64.b64decode(told, validate=True)
    return hmac.compare_digest(expected, _derived(pin, base64.b64decode(salt, validate=True), int(n), int(r), int(p)))


def read(path: Path | None) -> str | None:
    """The line of a PIN file, read afresh each time; None where there is none or it is not what `hashed` made."""
    try:
        line = "" if path is None else path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return line if line.startswith(f"{_KIND}$") else None


def _derived(pin: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(pin.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32)


class Door:
    """Counts wrong tries and says whether the door is locked; used by one thread."""

    def __init__(self, now: Callable[[], int]) -> None:
        """`now` is monotonic time in microseconds."""
        self._now = now
        self._wrong = 0
        self._until: int | None = None

    @property
    def locked_us(self) -> int:
        """Microseconds until the door can be tried again; 0: now."""
        if self._until is None:
            return 0
        left = self._until - self._now()
        if left <= 0:
            self._until, self._wrong = None, 0
            return 0
        return left

    @property
    def left(self) -> int:
        """Wrong tries that are left before it locks."""
        return max(0, TRIES - self._wrong)

    def tries(self) -> bool:
        """Counts a try; False where the door is locked, and nothing may be tried."""
        if self.locked_us:
            return False
        self._wrong += 1
        if self._wrong >= TRIES:
            self._until = self._now() + LOCKED_US
        return True

    def opened(self) -> None:
        """The try was right: all is forgotten."""
        self._wrong, self._until = 0, None
