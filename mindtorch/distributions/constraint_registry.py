"""Transforms that reach constraints; ``torch.distributions.constraint_registry``.

``biject_to(constraint)`` is a bijection from all real numbers (or vectors) to the constraint. ``transform_to`` may be
simpler, and redundant, as optimizers like it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that make a transform, by a constraint's class (``constraint_registry.ConstraintRegistry``)."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Make ``factory(constraint)`` the transform for constraints of a class, which may be given by an instance;
        without a factory, return a decorator. Raises TypeError for anything but a constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError("Expected constraint to be either a Constraint subclass or instance, but got "
                            f"{constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return a transform for a constraint; NotImplementedError if there is none for its class."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _exp_then(loc: Any, scale: int) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(loc, scale)])


def _register_common(registry: ConstraintRegistry) -> None:
    """Register the transforms that both registries share."""

    def independent(c: Any) -> Any:
        return transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims)

    def cat(c: Any) -> Any:
        return transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)

    def stack(c: Any) -> Any:
        return transforms.StackTransform([registry(part) for part in c.cseq], c.dim)

    for kind, factory in (
            (constraints.real, lambda c: transforms.identity_transform),
            (constraints.greater_than, lambda c: _exp_then(c.lower_bound, 1)),
            (constraints.greater_than_eq, lambda c: _exp_then(c.lower_bound, 1)),
            (constraints.less_than, lambda c: _exp_then(c.upper_bound, -1)),
            (constraints.interval, _to_interval), (constraints.half_open_interval, _to_interval),
            (constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform()),
            (constraints.independent, independent), (constraints.cat, cat), (constraints.stack, stack)):
        registry.register(kind, factory)


_register_common(biject_to)
_register_common(transform_to)
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _constraint in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_constraint, lambda c: transforms.PositiveDefiniteTransform())
