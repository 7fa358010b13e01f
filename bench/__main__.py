"""All figures, one after another: `python -m bench`; with the names of parts only those, with their own options.

python -m bench verifying --profile
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

PARTS = ("table", "journal", "pages", "replaying", "verifying", "decoders", "readers")

sys.path.insert(0, str(Path(__file__).parent))  # the parts use each other, as they do when they run alone
named = [argument for argument in sys.argv[1:] if argument in PARTS]
options = [argument for argument in sys.argv[1:] if argument not in PARTS]
if options and not named:
    raise SystemExit(f"{' '.join(options)}: name a part first: {', '.join(PARTS)}")

for part in named or PARTS:
    print(f"\n== {part} ==", flush=True)
    sys.argv = [part, *options]
    runpy.run_path(str(Path(__file__).with_name(f"{part}.py")), run_name="__main__")
