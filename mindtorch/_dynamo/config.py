"""The settings of the compiler: the module that all its parts read (``torch._dynamo.config``)."""
import sys

from .._compile import config

sys.modules[__name__] = config
