"""Sizes that differ from row to row: the node of a SymInt that prints as ``j1``.

Two of them are equal if they stand for the same offsets. No such size is 0 or 1, so that none is broadcast.
"""
from __future__ import annotations

from typing import Any


class NestedIntNode:
    """A multiple of the sizes with an identifier; without one (``t_id`` None), an ordinary number."""

    pytype = int

    def __init__(self, t_id: int | None, coeff: int) -> None:
        self.t_id, self.coeff = t_id, coeff

    @property
    def constant(self) -> int:
        """The value of an ordinary number."""
        return self.coeff

    def is_constant(self) -> bool:
        """Return True for an ordinary number."""
        return self.t_id is None

    def is_nested_int(self) -> bool:
        """Return True for sizes that differ."""
        return self.t_id is not None

    def nested_int(self) -> int | None:
        """Return the identifier."""
        return self.t_id

    def nested_int_coeff(self) -> int:
        """Return the factor of the sizes."""
        return self.coeff

    def is_symbolic(self) -> bool:
        """Return False: there is no expression."""
        return False

    def maybe_as_int(self) -> int | None:
        """Return the value of an ordinary number, None for sizes that differ."""
        return self.coeff if self.t_id is None else None

    def wrap_int(self, num: int) -> NestedIntNode:
        """Return the node of an ordinary number."""
        return NestedIntNode(None, num)

    def int_(self) -> int:
        """Return the value of an ordinary number. Raises RuntimeError for sizes that differ."""
        if self.t_id is None:
            return self.coeff
        raise RuntimeError(f"{self} stands for sizes that differ from row to row, and is no single number: offsets() "
                           "and lengths() have the sizes")

    def mul(self, other: NestedIntNode) -> NestedIntNode:
        """Return the product. Raises ValueError if both are sizes that differ."""
        if self.t_id is not None and other.t_id is not None:
            raise ValueError(f"unsupported: {self} times {other}, which are both sizes that differ from row to row")
        return NestedIntNode(other.t_id if self.t_id is None else self.t_id, self.coeff * other.coeff)

    def eq(self, other: NestedIntNode) -> Truth:
        """Return whether both are the same multiple of the same sizes."""
        return Truth((self.t_id, self.coeff) == (other.t_id, other.coeff))

    def ne(self, other: NestedIntNode) -> Truth:
        """Return the opposite of ``eq``."""
        return Truth((self.t_id, self.coeff) != (other.t_id, other.coeff))

    def ge(self, other: NestedIntNode) -> Truth:
        """Return whether this is at least the other. Raises ValueError where that depends on the sizes."""
        if self.t_id == other.t_id:
            return Truth(self.coeff >= other.coeff)
        if other.t_id is None and other.coeff <= 2:
            return Truth(True)
        if self.t_id is None and self.coeff < 2:
            return Truth(False)
        raise ValueError("ge: relation is indeterminate")

    def le(self, other: NestedIntNode) -> Truth:
        """Return whether this is at most the other, as ``ge`` does."""
        return other.ge(self)

    def gt(self, other: NestedIntNode) -> Truth:
        """Return whether this is more than the other, as ``ge`` does."""
        return Truth(not other.ge(self).constant)

    def lt(self, other: NestedIntNode) -> Truth:
        """Return whether this is less than the other, as ``ge`` does."""
        return Truth(not self.ge(other).constant)

    def sym_max(self, other: NestedIntNode) -> NestedIntNode:
        """Return the larger of both, as ``ge`` does."""
        return self if self.ge(other).constant else other

    def sym_min(self, other: NestedIntNode) -> NestedIntNode:
        """Return the smaller of both, as ``ge`` does."""
        return other if self.ge(other).constant else self

    def __repr__(self) -> str:
        named = f"j{self.t_id}" if self.coeff == 1 else f"{self.coeff}*j{self.t_id}"
        return str(self.coeff) if self.t_id is None else named

    _graph_repr = __repr__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"{name} of {self}, which stands for sizes that differ from row to row, is not known")


class Truth:
    """The node of a condition that is known."""

    pytype = bool

    def __init__(self, constant: bool) -> None:
        self.constant = constant

    def is_constant(self) -> bool:
        """Return True."""
        return True
