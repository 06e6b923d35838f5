"""Mutants that no test can notice, because the library does the same with them; each with the reason.

A mutant that survives is looked at by a person: it either gets a test, or a row here.
"""
from __future__ import annotations

from typing import NamedTuple

from .mutants import Mutant


class Equivalent(NamedTuple):
    """A change of a module below ``mindtorch``: its lines before and after, without the space around them."""

    path: str
    before: str
    after: str
    reason: str


EQUIVALENT = [Equivalent(*row) for row in (
    ("_backends/common/view/memory.py", "return self", "return None",
     "of an operator in place the dispatcher returns the tensor itself, whatever its kernel returns"),
    ("introspect/checks/text.py",
     "pairs = zip(target.elts, part.value.elts, strict=False) if several else [(target, part.value)]"
     "  # type: ignore[attr-defined]",
     "pairs = (zip(target.elts, part.value.elts)) if several else [(target, part.value)]"
     "  # type: ignore[attr-defined]", "zip is not strict unless it is asked to be"),
    ("distributions/mixture_same_family.py",
     "sizes = zip(reversed(mixture_shape), reversed(batch_shape), strict=False)",
     "sizes = (zip(reversed(mixture_shape), reversed(batch_shape)))", "zip is not strict unless it is asked to be"),
    ("export/_trace.py", "for leaf, spec, source in zip(self.leaves, self.specs, self.sources, strict=True):",
     "for leaf, spec, source in (zip(self.leaves, self.specs, self.sources)):",
     "the three lists are made of the same leaves"),
    ("fx/_tabular.py",
     'return "\\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()',
     'return "\\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip()',
     "each line of a table has as many cells as the table has columns"),
    ("_base/loops/bodies/sampling.py", "BLOCK = 256  #: places that are sampled at a time",
     "BLOCK = 257  #: places that are sampled at a time", "the places of a block are sampled each by itself"),
    ("distributed/tensor/_api.py",
     "return DTensor(redistribute_local_tensor(local, source, target), target, requires_grad=False)",
     "return DTensor(redistribute_local_tensor(local, source, target), target, requires_grad=True)",
     "an autograd function, which calls this, decides whether its results require grad"),
    ("_backends/cpu/ops/sums.py", "count, max(LARGE // (rows * columns), 1), x.size)",
     "count, max((LARGE * (rows * columns)), 1), x.size)", "a box's sum does not depend on its block"),
)]


def reason(mutant: Mutant) -> str | None:
    """Why nobody can notice a mutant, or None."""
    return next((row.reason for row in EQUIVALENT if ("mindtorch/" + row.path, row.before, row.after)
                 == (mutant.path, *mutant.change)), None)
