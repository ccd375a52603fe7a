"""Which masks suit a file and why, and a draft study. It looks at the data and changes nothing."""
