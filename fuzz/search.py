"""The search itself, in a process of its own: `python -m fuzz.search TARGET FOLDER SECONDS`.

What is tried must be imported under atheris's eyes, so nothing of scannerd is imported above. libFuzzer ends the
process: with 0 when its time is over, else after writing the input to FOLDER/artifacts.
"""

from __future__ import annotations

import sys
from pathlib import Path

TIMEOUT_S = 20
"""Seconds for one input; longer is a fault."""

MEMORY_MIB = 1024
"""More is a fault too."""


def main() -> None:
    """Searches until the time is over or something is found; never comes back."""
    import atheris  # noqa: PLC0415 - only here, and only where it is installed

    name, folder, seconds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    with atheris.instrument_imports(include=["scannerd", "scannerd_drivers"]):
        from fuzz.targets import targets  # noqa: PLC0415 - see above

        target = targets()[name]()
        seeds, words = list(target.seeds()), list(target.words())
    for kind in ("corpus", "seeds", "artifacts"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / "seeds" / f"{number:03}").write_bytes(seed)
    dictionary = folder / "words"
    dictionary.write_text("".join(map(_entry, words)), encoding="ascii")
    options = {
        "max_total_time": seconds,
        "max_len": target.longest,
        "timeout": TIMEOUT_S,
        "rss_limit_mb": MEMORY_MIB,
        "artifact_prefix": f"{folder}/artifacts/",
        "print_final_stats": 1,
        **({"dict": dictionary} if words else {}),
    }
    flags = [f"-{key}={value}" for key, value in options.items()]
    atheris.Setup([sys.argv[0], str(folder / "corpus"), str(folder / "seeds"), *flags], target.check)
    atheris.Fuzz()


def _entry(word: bytes) -> str:
    """A line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


if __name__ == "__main__":
    main()
