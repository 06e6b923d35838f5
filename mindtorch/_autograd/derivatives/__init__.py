"""The derivatives, a table a family."""
from . import (
    core as core, activation as activation, comparison as comparison, distance as distance,
    factorizations as factorizations, fft as fft, indexing as indexing, linalg as linalg, nn as nn, optim as optim,
    pointwise as pointwise, random as random,
    reduction as reduction, scan as scan, search as search, shape as shape, softmax as softmax, sorting as sorting,
    special as special, views as views,
)  # fmt: skip
