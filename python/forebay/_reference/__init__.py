"""What every field of every file means, read from the schemas of the files.

`forebay explain` prints a field; `tools/reference` writes the pages of docs/reference.
"""
