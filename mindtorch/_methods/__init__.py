"""The functions and methods that users call where they are more than an operator: ``x[...]``, pickling, settings."""
