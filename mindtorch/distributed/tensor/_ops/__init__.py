"""The rules: for each operator, how its outputs lie if its inputs lie so."""
from . import along, matrix, nn, pointwise, random, reduction, view

__all__ = ["along", "matrix", "nn", "pointwise", "random", "reduction", "view"]
