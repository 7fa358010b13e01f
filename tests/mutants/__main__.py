"""`python -m tests.mutants`: changes the core in a thousand small ways and runs its tests against each.

Ends with 1 where a mutant survived that `explained.toml` does not explain, or where it explains one that did not
survive. Takes half an hour on an idle core. The changes are made in a copy of the tree, never in the tree itself; the
session's file is left beside the copy, so that a run that was broken off goes on with `--resume FOLDER`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.survivors import Verdict, explanations, judge, survivors

ROOT = Path(__file__).parents[2]
CONFIG = "tests/mutants/cosmic-ray.toml"
SESSION = "session.sqlite"
PROGRESS_S = 10.0


def main() -> int:
    """Returns the status to end with."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Mutation testing of the core.")
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with a run that was broken off")
    folder = parser.parse_args().resume or _begun(Path(tempfile.mkdtemp(prefix="scannerd-mutants-")))
    sys.stdout.write(f"in {folder}\n")
    _run_all(folder)
    verdict = judge(survivors(_ask(folder, "cosmic-ray", "dump", SESSION).splitlines()), explanations())
    _tell(folder, verdict)
    return int(not verdict.well)


def _begun(folder: Path) -> Path:
    """A copy of what is under version control, as it lies there, with a session in it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607 - the user's git
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    _ask(folder, "cosmic-ray", "init", CONFIG, SESSION)
    _ask(folder, "cr-filter-operators", SESSION, CONFIG)
    return folder


def _run_all(folder: Path) -> None:
    """Runs the tests against each mutant that has no result yet."""
    with subprocess.Popen([_tool("cosmic-ray"), "exec", CONFIG, SESSION], cwd=folder, env=_environment()) as running:
        try:
            while running.poll() is None:
                try:
                    running.wait(PROGRESS_S)
                except subprocess.TimeoutExpired:
                    _show_progress(folder)
        except BaseException:
            running.terminate()
            raise
    if running.returncode:
        raise SystemExit(f"cosmic-ray exec ended with {running.returncode}; see above")


def _show_progress(folder: Path) -> None:
    if sys.stderr.isatty():
        done = [line for line in _ask(folder, "cr-report", SESSION).splitlines() if line.startswith("complete")]
        sys.stderr.write(f"\r\033[K{' '.join(done)}")
        sys.stderr.flush()


def _tell(folder: Path, verdict: Verdict) -> None:
    lines = _ask(folder, "cr-report", SESSION).splitlines()
    sys.stdout.write("\n".join(line for line in lines if line.startswith(("total", "complete", "surviving"))) + "\n")
    for survivor in verdict.unexplained:
        sys.stdout.write(f"survived, and nobody says why: {survivor}\n")
    for why in verdict.needless:
        sys.stdout.write(f"explained, but did not survive: {why.module}: {why.operator}: {why.line}\n")


def _ask(folder: Path, tool: str, *arguments: str) -> str:
    done = subprocess.run(
        [_tool(tool), *arguments], cwd=folder, env=_environment(), check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _environment() -> dict[str, str]:
    """`python` is this one; no mutant is ever read from a cache of bytecode, whose times are too coarse for it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


if __name__ == "__main__":
    sys.exit(main())
