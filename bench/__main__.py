"""All figures, one after another: `python -m bench`; each part runs alone as well and has options of its own."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

PARTS = ("table", "journal", "pages", "replaying", "decoders", "readers")

sys.path.insert(0, str(Path(__file__).parent))  # the parts use each other, as they do when they run alone

for part in PARTS:
    print(f"\n== {part} ==", flush=True)
    runpy.run_path(str(Path(__file__).with_name(f"{part}.py")), run_name="__main__")
