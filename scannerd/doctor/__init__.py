"""Looks for what is wrong with a machine that is to run a table, and says what to do about each finding.

Each check is a row of `scannerd.doctor.checks.CHECKS`: a probe, which gathers facts and judges nothing, and a pure
judgement, which makes findings of the facts. Nothing here disturbs a running daemon: no lock is taken, the broker is
asked under another client id, a port is opened only where no daemon runs the table, and no device is written to.
"""
