"""Work on recordings: what the verbs of `scannerd scanlog` do, a module a verb."""
