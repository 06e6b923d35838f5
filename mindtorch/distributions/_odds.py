"""Distributions of events whose probability is given as itself or as log odds."""
from __future__ import annotations

from typing import Any, ClassVar

from .._tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def one_of(probs: Any, logits: Any) -> str:
    """Return the name of the parameter that is given; ValueError if neither or both are given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class Odds(Distribution):
    """A distribution with ``probs`` and ``logits``; the one that was not given is computed on demand. They describe one
    event, unless a subclass declares several events, one of which happens.
    """

    _param: Any
    _is_binary: ClassVar[bool] = True

    def _given(self, probs: Any, logits: Any, *others: Any) -> list[Any]:
        """Keep the given parameter, broadcast with others, and return these in its dtype."""
        name = one_of(probs, logits)
        *others, self._param = broadcast_all(*others, logits if probs is None else probs)  # type: ignore[assignment]
        setattr(self, name, self._param)
        return [other.type_as(self._param) for other in others]

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, self._is_binary)

    param_shape = property(lambda self: self._param.size())

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)
