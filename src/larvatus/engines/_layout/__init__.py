"""Parts shared by the disk and Spark engines: row order in chunks, stored columns, the private work folder."""
