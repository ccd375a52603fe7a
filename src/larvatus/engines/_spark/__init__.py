"""The table of the Spark engine: session, jobs, exchange, sorting, reading and writing."""
