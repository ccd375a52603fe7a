"""The worker process of the desk: what runs in it, apart from the server."""
