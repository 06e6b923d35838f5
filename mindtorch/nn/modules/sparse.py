"""Tables of vectors; mirrors ``torch.nn.modules.sparse``."""
from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._creation import empty
from ..._tensor import Tensor
from .. import functional as F, init
from ..module import Module
from ..parameter import Parameter


class _Table(Module):
    """A weight (num_embeddings, embedding_dim), which starts normal, but for the row ``padding_idx``, which is zero."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make_weight(self, given: Tensor | None, frozen: bool, complaint: str, device: Any, dtype: Any) -> None:
        rows, width = self.num_embeddings, self.embedding_dim
        if self.padding_idx is not None:
            if not -rows <= self.padding_idx < max(rows, 1):
                raise AssertionError(complaint)
            self.padding_idx %= max(rows, 1)
        if given is not None and tuple(given.shape) != (rows, width):
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        made = empty((rows, width), device=device, dtype=dtype) if given is None else given
        self.weight = Parameter(made, requires_grad=not frozen)
        if given is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew, as ``torch.nn.Embedding.reset_parameters`` does."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _shown_unless(self, **usual: Any) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *shown])

    @staticmethod
    def _check_pretrained(embeddings: Tensor) -> tuple[int, ...]:
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return tuple(embeddings.shape)


class Embedding(_Table):
    """Looks up rows of a table by number, (...) to (..., embedding_dim) (``torch.nn.Embedding``). ``weight``
    (num_embeddings, embedding_dim) starts normal. The row ``padding_idx`` starts at zero and gets no gradient; with
    ``max_norm``, rows that are looked up are first scaled down to that norm. Raises AssertionError if ``padding_idx``
    is not a row, or the given weight has another shape.
    """

    __constants__ = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq",
                     "sparse")

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make_weight(_weight, _freeze, "Padding_idx must be within num_embeddings", device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        return self._shown_unless(padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Embedding:
        """Make a table of these rows, frozen if ``freeze`` (``torch.nn.Embedding.from_pretrained``). Raises
        AssertionError unless ``embeddings`` is a matrix.
        """
        rows, width = cls._check_pretrained(embeddings)
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """Looks up rows of a table and takes the sum, mean or maximum of each bag (``torch.nn.EmbeddingBag``): the bags are
    the rows of the input (bags, N), or begin at ``offsets`` (bags,) of the input (N,). Raises AssertionError if
    ``padding_idx`` is not a row, or the given weight has another shape.
    """

    __constants__ = ("num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx")

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse, self.mode = scale_grad_by_freq, sparse, mode
        self.include_last_offset = include_last_offset
        self._make_weight(_weight, False, "padding_idx must be within num_embeddings", device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        return self._shown_unless(max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="", padding_idx=None)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> EmbeddingBag:
        """Make a table of these rows, frozen if ``freeze`` (``torch.nn.EmbeddingBag.from_pretrained``). Raises
        AssertionError unless ``embeddings`` is a matrix.
        """
        rows, width = cls._check_pretrained(embeddings)
        made = cls(rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
                   padding_idx)
        made.weight.requires_grad_(not freeze)
        return made
