"""Recordings against what is expected of them: chosen, replayed on all cores, compared, explained and reported.

`corpus` finds recordings, `choosing` filters them, `pool` gives each to a process, and `verifying` does the work for
one: `findings` replays it beside its `expected` files by way of `comparison`, `changes` counts what an update changed,
and `explaining` tells how a difference came about. `summary`, `junit` and `markdown` report; `pytest_plugin` makes a
test of each recording.
"""
