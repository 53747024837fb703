"""ASPQ beyond its paper: the controller's options, and whether to freeze."""
