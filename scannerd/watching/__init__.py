"""The table in a terminal: what is known of it, what a supervisor presses, what is drawn, and where it comes from.

`known`, `desk` and `drawing` are pure: a letter or a key gives the next desk, and a desk gives lines of text. `page`
and `broker` bring the letters, each from threads of their own; `terminal` alone touches the screen.
"""
