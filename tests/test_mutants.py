"""What comes of mutation testing: survivors and their explanations."""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutants.survivors import EXPLAINED, Explanation, Survivor, explanations, judge, survivors

SAME = Survivor("scannerd/core/state.py", "ReplaceComparisonOperator_Eq_Is", "if a == b:", "if a is b:")
MORE = Survivor("scannerd/core/state.py", "ReplaceComparisonOperator_Eq_GtE", "if a == b:", "if a >= b:")
WHY = Explanation(SAME.module, SAME.before, "*_Eq_Is", "both are the same string")


def dumped(outcome: str | None, diff: str = "") -> str:
    """A line of `cosmic-ray dump`."""
    change = {"module_path": SAME.module, "operator_name": f"core/{SAME.operator}"}
    result = None if outcome is None else {"test_outcome": outcome, "diff": diff}
    return json.dumps([{"job_id": "1", "mutations": [change]}, result])


def test_survivors_are_told_by_the_line_that_was_changed() -> None:
    """A mutant that was killed, skipped or not tried yet is none; one that survived is told with both lines."""
    diff = f"--- mutation diff ---\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n y\n-    {SAME.before}\n+    {SAME.after}\n z\n"
    dump = [dumped("killed"), dumped(None), dumped("survived", diff), dumped("incompetent")]
    assert [SAME] == list(survivors(dump))
    assert f"    - {SAME.before}\n    + {SAME.after}" in str(SAME)


def test_a_survivor_needs_an_explanation_of_its_line_and_kind() -> None:
    """What is explained is well; another change of the same line is not."""
    assert judge([SAME], [WHY]).well
    verdict = judge([SAME, MORE], [WHY])
    assert not verdict.well
    assert (MORE,) == verdict.unexplained


def test_an_explanation_of_what_was_killed_must_go() -> None:
    """Explanations stay no longer than what they explain."""
    verdict = judge([], [WHY])
    assert not verdict.well
    assert (WHY,) == verdict.needless


def test_each_explanation_is_of_a_line_of_the_core() -> None:
    """What is explained stands in the core as it is quoted, and says why."""
    root = EXPLAINED.parents[2]
    for one in explanations():
        assert one.line in {line.strip() for line in Path(root, one.module).read_text().splitlines()}
        assert one.why
