"""Recordings against what is expected of them: chosen, replayed on all cores, compared, explained and reported."""
