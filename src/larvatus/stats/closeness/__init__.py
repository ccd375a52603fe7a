"""How near two sets of records are to each other, compared with how near they would be by chance."""
