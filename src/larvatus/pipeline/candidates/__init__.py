"""Making and scoring many candidates, one or two at a time, with a cache to resume from."""
