"""The reference game engine for Teen Patti 20-20: rules, pay tables, bets and settlement.

A model consumer of the table's contract. The rules know no clock, file, socket or thread; the shell hands in what
they need.
"""
