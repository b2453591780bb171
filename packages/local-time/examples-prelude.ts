// What the examples in the docstrings take for granted: nothing.
