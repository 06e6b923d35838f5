"""The base of all distributions: shapes, validation, expansion; ``torch.distributions.distribution``.

A distribution has a batch of events: ``batch_shape`` is the shape of its parameters, ``event_shape`` that of one event,
and a sample has the shape ``sample_shape + batch_shape + event_shape``.
"""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .._autograd.grad_mode import no_grad
from .._base.size import Size
from .._tensor import Tensor
from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]
_SCALAR = Size()


class Distribution:
    """The abstract base class of distributions (``torch.distributions.Distribution``).

    Parameters are checked against ``arg_constraints``, values against ``support``, unless ``validate_args`` is False.
    Raises ValueError for a parameter, or a value whose probability is asked for, outside of its constraint.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    #: The attributes whose shape begins with the batch shape: tensors, and distributions.
    _batched: ClassVar[tuple[str, ...]]
    arg_constraints: ClassVar[Any] = property(lambda self: _unknown())
    support: ClassVar[Any] = property(lambda self: _unknown())

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a parameter by its name."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Switch the checks of arguments on or off; they are on unless Python runs with ``-O``."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = _SCALAR, event_shape: Any = _SCALAR, validate_args: bool | None = None):
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _broadcast(self, validate_args: bool | None, **parameters: Any) -> None:
        """Initialise a batch of scalar events, whose parameters are broadcast with each other."""
        tensors = broadcast_all(*parameters.values())
        for name, value in zip(parameters, tensors, strict=True):
            setattr(self, name, value)
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    # -- checks ----------------------------------------------------------------------------------------------

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.",
                          stacklevel=3)
            return
        for name, constraint in arg_constraints.items():
            lazy = name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property)
            if lazy or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")

    def _check_sample(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, expected = value.shape, self._batch_shape + self._event_shape
        if actual[len(actual) - len(self._event_shape):] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{actual} vs {self._event_shape}.")
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(actual), reversed(expected), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize "
                          "the distribution with `validate_args=False` to turn off validation.", stacklevel=4)
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(actual)}) to be within "
                             f"the support ({support!r}) of the distribution {self!r}, but found invalid values:\n"
                             f"{value}")

    # -- shapes ----------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to a batch shape; ``_instance`` is the new instance,
        where a subclass has made it (``torch.distributions.Distribution.expand``). Raises NotImplementedError for a
        subclass that has its own ``__init__``, but no ``expand``.
        """
        owner: Any = next((cls for cls in type(self).__mro__ if "_batched" in vars(cls)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape, rank = Size(batch_shape), len(self._batch_shape)
        for name, value in self.__dict__.items():
            if name in owner._batched:
                of_part = isinstance(value, Distribution)
                shape = value.batch_shape if of_part else value.shape
                new.__dict__.setdefault(name, value.expand(batch_shape + shape[rank:]))
            elif not isinstance(getattr(type(self), name, None), lazy_property):
                new.__dict__.setdefault(name, value)
        new._batch_shape = batch_shape
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom "
                                      "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    # -- what a distribution knows ---------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the greatest probability."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples, without gradients, of the shape ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """Draw n samples; deprecated in favour of ``sample((n,))``."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the probability, or density, of each event of ``value``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantiles of the probabilities ``value``: the inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all events of a finite support along a new first dimension; with ``expand`` for each distribution of
        the batch.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, of the batch shape, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def __repr__(self) -> str:
        values = ((name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__)
        shown = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values)
        return f"{type(self).__name__}({shown})"


def _unknown() -> Any:
    raise NotImplementedError


def _enumerated(values: Tensor, batch_shape: Any, expand: bool) -> Any:
    """Lay events along the first dimension of ``values``, for ``enumerate_support``."""
    count, *event = values.shape
    values = values.view((count, *[1] * len(batch_shape), *event))
    return values.expand((count, *batch_shape, *event)) if expand else values
