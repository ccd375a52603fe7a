"""The desk: a page in the browser, served from this machine to this machine only, from a file to a signed release."""
