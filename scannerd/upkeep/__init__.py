"""What a table that runs for months looks after: old events, what it runs on, worn cards, bad lines, the machine."""
