"""What tests in a whole Debian system share: the system, the table as its consumers see it, the package, the report."""
