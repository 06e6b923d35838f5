"""The lessons of the course: one module each, with its predictions and labs as rows."""
import sys

#: The library under the name that readers know it by: solutions are shown as they would write them. The package is
#: loaded before any of its modules.
torch = sys.modules[__name__.partition(".")[0]]
