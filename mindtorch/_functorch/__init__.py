"""``torch._functorch``: settings of the stages between a captured program and its compilation."""
