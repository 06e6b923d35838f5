"""The cross entropy of a linear layer's logits, computed some rows at a time to save memory."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._autograd.function import Function, once_differentiable
from ..._autograd.grad_mode import enable_grad
from ..._dtype import DType, bfloat16, float16, float32, float64
from ..._methods.functions import cat, cross_entropy_loss, linear, zeros_like

NONE, SUM = 0, 2


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` cuts its rows into chunks (``torch.nn.LinearCrossEntropyOptions``).

    ``batch_chunk_size`` is the number of rows of a chunk; without it, ``chunking_method`` finds one: 'aspect_ratio'
    makes the logits of a chunk about as large as the input, 'aspect_ratio:n' n times smaller. A chunk is computed in
    ``acc_dtype``, for half precision float32. ``acc_policy`` and ``allow_retain_graph`` are taken and change nothing,
    since backward computes the logits anew. Raises ValueError for a value that none of these can have.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        name, given, factor = (self.chunking_method or "auto").partition(":")
        if name not in ("auto", "aspect_ratio") or (given and (name == "auto" or not factor.isdigit()
                                                               or int(factor) < 1)):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                             f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                             "automatically.")

    def rows(self, batch: int, features: int, classes: int, is_half: bool) -> int:
        """Return the number of rows of a chunk. Raises ValueError if the size and the method contradict each other."""
        method = self.chunking_method
        if method == "auto":
            method = "aspect_ratio" if is_half else "aspect_ratio:2"
            method = None if self.batch_chunk_size is not None else method
        if method is None:
            return max(1, min(self.batch_chunk_size or batch, batch))
        parts = -(-classes // features)
        power = 1 << (-(-batch // parts) - 1).bit_length()
        found = min(power // int(method.partition(":")[2] or 1), batch)
        if self.batch_chunk_size not in (None, found):
            raise ValueError(f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give "
                             f"different chunk sizes ({self.batch_chunk_size} vs {found}); pass only one.")
        return max(1, found)


def in_chunks(input: Any, linear_weight: Any, target: Any, bias: Any, weight: Any, reduction: str, ignore_index: int,
              options: LinearCrossEntropyOptions) -> Any:
    """Compute the cross entropy of class indices, chunk by chunk."""
    x, y = (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.unsqueeze(0))
    half = x.dtype in (float16, bfloat16)
    dtype = options.acc_dtype or (float32 if half and options.acc_policy == "auto" else x.dtype)
    rows = options.rows(x.shape[0], x.shape[1], linear_weight.shape[0], half)
    losses: Any = _Chunked.apply(x, linear_weight, bias, y, weight, reduction == "none", ignore_index, rows, dtype)
    if reduction == "mean":
        counted = y != ignore_index
        losses = losses / (counted.sum() if weight is None else (weight[y.where(counted, 0)] * counted).sum())
    losses = losses.to(x.dtype)
    return losses if input.dim() == 2 else losses.squeeze(0)


class _Chunked(Function):
    """The losses, or their sum; in backward, each chunk's logits are computed once more."""

    @staticmethod
    def forward(ctx: Any, x: Any, linear_weight: Any, bias: Any, target: Any, weight: Any, by_row: bool,
                ignore_index: int, rows: int, dtype: DType) -> Any:
        ctx.save_for_backward(x, linear_weight, bias, target, weight)
        ctx.settings = by_row, ignore_index, rows, dtype
        losses = [_loss(x[part].to(dtype), linear_weight.to(dtype), None if bias is None else bias.to(dtype),
                        target[part], weight, by_row, ignore_index) for part in _parts(x, rows)]
        return cat(losses) if by_row else sum(losses[1:], losses[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        x, linear_weight, bias, target, weight = ctx.saved_tensors
        by_row, ignore_index, rows, dtype = ctx.settings
        wide: list[Any] = [None if t is None else t.detach().to(dtype).requires_grad_() for t in (linear_weight, bias)]
        of_shared = [None if t is None else zeros_like(t) for t in wide]
        of_x = []
        for part in _parts(x, rows):
            with enable_grad():
                piece = x[part].detach().to(dtype).requires_grad_()
                loss = _loss(piece, wide[0], wide[1], target[part], weight, by_row, ignore_index)
            loss.backward(grad[part] if by_row else grad)
            of_x.append(piece.grad)
            for total, t in zip(of_shared, wide, strict=True):
                if total is not None:
                    total.add_(t.grad)
                    t.grad = None
        return (cat(of_x).to(x.dtype), *(None if g is None else g.to(x.dtype) for g in of_shared), *(None,) * 6)


def _parts(x: Any, rows: int) -> Iterator[slice]:
    return (slice(start, start + rows) for start in range(0, x.shape[0], rows))


def _loss(x: Any, linear_weight: Any, bias: Any, target: Any, weight: Any, by_row: bool, ignore_index: int) -> Any:
    weight = None if weight is None else weight.to(x.dtype)
    return cross_entropy_loss(linear(x, linear_weight, bias), target, weight, NONE if by_row else SUM, ignore_index)
