"""`forebay explore`: scenarios in motion, in a browser."""
