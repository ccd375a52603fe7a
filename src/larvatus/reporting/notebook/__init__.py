"""How values look in a notebook, and plots that can be saved as files."""
