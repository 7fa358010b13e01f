"""One file for a report: what a table runs on, how it is configured, and what happened last; and no secret.

`bundle` writes the file, `gathering` fills it, part by part, each on its own: whatever is broken is what the report is
about, and takes nothing from the rest. `configuration` shows a configuration without its secrets, even one that is no
TOML; `machine`, `journal` and `traces` look at what their names say.
"""
