"""What the disk and Spark engines share: row order in chunks, stored columns, the private work folder.

Reading files belongs to _files.
"""
