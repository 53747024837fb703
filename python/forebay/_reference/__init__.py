"""What every field of every file means, read from the schemas of the files.

`python -m forebay._reference docs/reference` writes the pages; `forebay explain` prints a field.
"""
