"""Information about who is who, in nats: what noise lets through, and what it is worth to an intruder."""
