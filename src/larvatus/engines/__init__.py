"""Where data are held and how verbs are carried out: one file, one engine. Their parts are in the hidden sub-packages."""
