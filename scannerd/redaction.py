"""What is a secret, and how it is kept out of what people hand on: log lines, complaints, reports.

A secret is known by the name of its key, or as what stands before the host in a URL. Too much is hidden rather than
too little.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

HIDDEN: Final = "[hidden]"

_PARTS: Final = ("password", "passwd", "passphrase", "secret", "token", "credential", "private_key")
_WORDS: Final = {"pin", "key", "auth", "pw", "pwd"}
_USER: Final = re.compile(r"(?<=://)[^\s\"'<>]*@")
_QUERY: Final = re.compile(r"([?&][^=&\s]*(?:pass|secret|token|key|auth|pin)[^=&\s]*=)[^&\s\"'#]+", re.IGNORECASE)
_SHORTEST: Final = 4
"""Characters of a secret that is looked for in other texts: a shorter one stands everywhere, and hides nothing."""


def is_secret(key: str) -> bool:
    """Whether a key speaks of a secret: one of its words does, or part of a word that can mean nothing else."""
    words = key.lower().replace("-", "_")
    return any(part in words for part in _PARTS) or not _WORDS.isdisjoint(words.split("_"))


def without_userinfo(text: str) -> str:
    """The text with `[hidden]` for user and password of each URL in it, and for secrets in its query."""
    if "://" not in text:
        return text
    return _QUERY.sub(rf"\g<1>{HIDDEN}", _USER.sub(f"{HIDDEN}@", text))


def cleaned(value: object) -> object:
    """A value of JSON's kinds with `[hidden]` for what is secret in it, at any depth."""
    if isinstance(value, str):
        return without_userinfo(value)
    if isinstance(value, Mapping):
        return {key: HIDDEN if is_secret(str(key)) else cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list | tuple) else value


def scrubber(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    """Finds each of the secrets in bytes, as it is and as JSON, TOML, Python and URLs write it; None: there is none."""
    forms: set[bytes] = set()
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
            forms |= {
                form.encode(errors="surrogateescape")
                for form in {secret, quote(secret, safe="", errors="surrogateescape"), *escaped}
            }
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile(b"|".join(re.escape(form) for form in longest_first)) if forms else None
