"""All figures, one after another: `python -m bench`; each part runs alone as well and has options of its own."""

from __future__ import annotations

import runpy
from pathlib import Path

PARTS = ("table", "replaying", "decoders", "readers")

for part in PARTS:
    print(f"\n== {part} ==", flush=True)
    runpy.run_path(str(Path(__file__).with_name(f"{part}.py")), run_name="__main__")
