"""The ways to run programs: the command line, as ``torch``, in several processes, in IPython."""
