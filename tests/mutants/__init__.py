"""Mutation testing of the core: every small change to it must make a test fail, or be explained in `explained.toml`."""
