"""The derivatives, a table a family."""
from . import core as core, distance as distance, linalg as linalg, random as random, reduction as reduction, scan as scan, search as search, softmax as softmax, sorting as sorting, views as views, activation as activation, comparison as comparison, pointwise as pointwise, special as special
