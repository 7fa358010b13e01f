"""Coverage-guided fuzzing of all that takes what others wrote: bytes, recordings, commands, configurations.

A target says what must hold for any input at all (`check`); a search for inputs that reach new code finds what breaks
it. `python -m fuzz` runs them, see README.md. Only `search.py`, which runs in a process of its own, needs atheris.
"""
