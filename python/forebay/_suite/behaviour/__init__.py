"""One congestion control's behaviour, case by case, by its own variables on a path that changes.

A run is repeated: the first tells when a state is entered, and the second, which is equal to it
until then, changes the path or the application at that instant.
"""
