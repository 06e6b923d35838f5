"""Solutions of the labs. Those called ``right_...`` pass; two are the author's, the others were written by readers from
the lab's text alone. A wrong one's docstring, or the text beside it in ``WRONG``, is a part of what it gets to read.
"""
