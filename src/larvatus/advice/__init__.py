"""Which masks suit a file and why, with a draft study. It reads the data and changes nothing."""
