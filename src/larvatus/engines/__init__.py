"""Engines: where data are held and verbs are executed. One file per engine; their parts are in the hidden sub-packages."""
