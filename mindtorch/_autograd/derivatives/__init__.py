"""The derivatives, a table a family."""
from . import core as core, linalg as linalg
