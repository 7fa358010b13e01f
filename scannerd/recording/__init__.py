"""Recordings at work: made of what comes, played again on a virtual clock, and made up. Their form is `scanlog`'s."""
