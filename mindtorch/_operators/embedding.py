"""Rows of a table looked up by index, and bags of them. ``mode`` of a bag: 0 sum, 1 mean, 2 max."""
from __future__ import annotations

from typing import Any

from .._base.errors import NAMES, check, type_string
from .._base.layout import Spec
from .._dispatch.aten import (
    _embedding_bag, _embedding_bag_backward, _embedding_bag_forward_only, _embedding_bag_per_sample_weights_backward,
    _embedding_bag_sparse_backward, aminmax, arange, embedding_dense_backward, embedding_sparse_backward,
    scatter__value as scatter_value_, zeros,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING, int32, int64, promote_types
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, is_batched, lowered
from .._transforms.batching.rules import by_element, composed
from . import operator, schemas
from .pointwise import not_implemented

schemas("""
function:
    embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor  # The rows of `weight` at `indices`.
    embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)  # Scales the rows of `self` at `indices` whose `norm_type`-norm exceeds `max_norm` down to it.
    embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # The sums, means or maxima of bags of rows of `weight` at `indices`, where each bag begins at one of `offsets`; the bag of each index, the sizes of the bags, and which index has the maximum.
    embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)
operator only:
    _embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `embedding_bag` computes, for one that has a gradient.
    _embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `embedding_bag` computes, for one that has no gradient.
    embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor
    _embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor
""")  # noqa: E501

SUM, MEAN, MAX = 0, 1, 2


def check_indices(caller: str, indices: Any, number: int = 1, name: str = "indices") -> None:
    check(indices._dtype in (int32, int64),
          lambda: f"Expected tensor for argument #{number} '{name}' to have one of the following scalar types: Long, "
                  f"Int; but got torch.{NAMES[indices._dtype.name]}Tensor instead (while checking arguments for "
                  f"{caller})", kind="index dtype")


def meta_embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool =
                   False) -> Spec:
    check(weight.ndim == 2, "'weight' must be 2-D")
    check_indices("embedding", indices)
    return Spec((*indices.shape, weight.shape[1]), weight._dtype)


def meta_embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    check(self.dim() == 2, lambda: f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for "
          "argument #1 'self' (while checking arguments for embedding_renorm_)")
    check_indices("embedding_renorm_", indices, 2)
    check(self._dtype.category >= FLOATING or not indices.numel(), lambda: "norm(): input dtype should be either "
          f"floating point or complex. Got {NAMES[self._dtype.name]} instead.")


def meta_embedding_dense_backward(grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int,
                                  scale_grad_by_freq: bool) -> Spec:
    check_indices("embedding_backward", indices, 2)
    width = grad_output.shape[-1]
    check(indices.numel() * width == grad_output.numel(),
          lambda: f"shape '[{indices.numel()}, {width}]' is invalid for input of size {grad_output.numel()}")
    return Spec((num_weights, width), grad_output._dtype)


def meta_embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
                       sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                       padding_idx: int = -1) -> tuple[Spec, ...]:
    check_indices("embedding_bag", indices)
    check_indices("embedding_bag", offsets, 1, "offsets")
    check(weight._dtype.category == FLOATING,
          lambda: "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
                  f"Float, Double; but got {type_string(weight)} instead (while checking arguments for embedding_bag)")
    check(weight.ndim == 2, "'weight' must be 2-D")
    if per_sample_weights is not None:
        check(per_sample_weights._dtype is weight._dtype,
              lambda: "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                      f"'per_sample_weights'; but type {type_string(weight)} does not equal "
                      f"{type_string(per_sample_weights)} (while checking arguments for embedding_bag)")
        check(mode == SUM, "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
              f"mode='sum' (got mode={mode}).")
        check(per_sample_weights.shape == indices.shape and indices.ndim == 1,
              "embedding_bag: per_sample_weights must have one weight for each index")
    bags = offsets.shape[0] - include_last_offset
    check(bags >= 0, "include_last_offset: number of offset should be at least 1")
    dtype, width = promote_types(indices._dtype, offsets._dtype), weight.shape[1]
    return (Spec((bags, width), weight._dtype), Spec((indices.shape[0],), dtype), Spec((bags,), dtype),
            Spec((bags, width) if mode == MAX else (bags,), dtype))


def embedding_bag_backward(grad: Any, indices: Any, offsets: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any,
                           num_weights: int, *rest: Any) -> Spec:
    return Spec((num_weights, grad.shape[1]), grad._dtype)


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Any:
    """Return ATen's ``embedding_bag``, with the elements taken; RuntimeError if ``padding_idx`` is no row."""
    rows = weight.shape[0]
    check(padding_idx is None or -rows <= padding_idx < rows,
          lambda: f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                  f"{padding_idx}")
    tracked = weight._keys | (0 if per_sample_weights is None else per_sample_weights._keys)
    look_up = _embedding_bag if tracked & AUTOGRAD and local.grad_enabled else _embedding_bag_forward_only
    return look_up(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                   -1 if padding_idx is None else padding_idx % rows)


def embedding_grad(grad: Tensor, indices: Any, weight_shape: Any, padding_idx: int, scale_grad_by_freq: bool,
                   sparse: bool) -> Tensor:
    if sparse:
        return embedding_sparse_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    return embedding_dense_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def embedding_double_grad(grad: Tensor, indices: Any, padding_idx: int) -> Tensor:
    rows = grad.index_select(0, indices.reshape(-1))
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).reshape(-1, 1), 0)
    return rows.view((*indices.shape, grad.shape[1]))


def embedding_bag_grad(grad: Tensor, indices: Any, offsets: Any, result1: Any, result2: Any, result3: Any,
                       weight_shape: Any, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any,
                       padding_idx: int) -> Tensor:
    if sparse:
        return _embedding_bag_sparse_backward(grad, indices, offsets, result1, result2, weight_shape[0],
                                              scale_grad_by_freq, mode, per_sample_weights, padding_idx)
    return _embedding_bag_backward(grad, indices, offsets, result1, result2, result3, weight_shape[0],
                                   scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx)


def embedding_bag_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``embedding_bag`` cannot know of a tensor in ``vmap`` whether it is differentiated."""
    return by_element(registry["_embedding_bag"], frame, args)


def embedding_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``embedding``: rows of one table, or of one for each element, which are rows of one above another."""
    meta_embedding(*args)  # check the shapes of one element
    weight, indices, *rest = args
    if not is_batched(weight, frame):
        return op.call(weight, lowered(indices, frame), *rest)
    found = op.call(lowered(weight, frame).flatten(0, 1), numbered(indices, weight.shape[0], frame))
    if not rest or rest[0] < 0:
        return found
    return found.where((filled(indices, frame) != rest[0]).unsqueeze(-1), found.detach())


def embedding_backward_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Return the gradient of ``embedding`` by one table in which each element has rows of its own."""
    grad, indices, rows, padding, scale = args
    if padding >= 0:
        grad = grad.masked_fill((indices == padding).unsqueeze(-1), 0)
    table = op.call(filled(grad, frame), numbered(indices, rows, frame), rows * frame.size, -1, scale)
    return table.reshape((frame.size, rows, *table.shape[1:]))


def numbered(indices: Any, rows: int, frame: Frame) -> Any:
    """Turn rows of one table for each element into rows of all tables."""
    whole = filled(indices, frame)
    count = arange(frame.size, whole._dtype, None, whole._device) * rows
    return whole + count.reshape((frame.size, *(1,) * indices.ndim))


operator("embedding", meta_embedding, batching=embedding_batch_rule, weight=embedding_grad)
operator("embedding_renorm_", meta_embedding_renorm_)
operator("embedding_bag embedding_bag.padding_idx", composite=embedding_bag)
operator("_embedding_bag", meta_embedding_bag, node="EmbeddingBagBackward0", outputs=(0,), weight=embedding_bag_grad,
         per_sample_weights=lambda grad, weight, indices, offsets, result1, mode, padding_idx:
             _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, result1, mode, padding_idx))
operator("_embedding_bag_forward_only", meta_embedding_bag, batching=embedding_bag_batch_rule)
operator("embedding_dense_backward", meta_embedding_dense_backward, batching=embedding_backward_batch_rule,
         grad_output=embedding_double_grad)
operator("_embedding_bag_backward", embedding_bag_backward, grad=not_implemented("_embedding_bag_backward"))

schemas("""
operator only:
    one_hot(Tensor self, int num_classes=-1) -> Tensor  # A vector of `num_classes` zeros for each element of `self`, with a one at the position that the element gives.
    _embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor
""")  # noqa: E501


def per_sample_weights_backward(grad: Tensor, weight: Any, indices: Any, *rest: Any) -> Spec:
    return Spec((indices.shape[0],), grad._dtype)


def checked_classes(least: Any, most: Any, num_classes: int) -> int:
    check(least >= 0, "Class values must be non-negative.", kind="one_hot classes")
    check(num_classes == -1 or num_classes > most, "Class values must be smaller than num_classes.",
          kind="one_hot classes")
    return most + 1 if num_classes == -1 else num_classes


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """``nn.functional.one_hot``: class numbers as rows with a one; RuntimeError unless they are int64 classes."""
    check(self._dtype is int64, "one_hot is only applicable to index tensor of type LongTensor.", kind="index dtype")
    shape = tuple(self.shape)
    if not self.numel():
        check(num_classes > 0, "Can not infer total number of classes from empty tensor.")
        return self.new_zeros((*shape, num_classes))
    if not self.is_meta:
        least, most = (extreme.item() for extreme in aminmax(self))
        num_classes = checked_classes(least, most, num_classes)
    return scatter_value_(zeros((*shape, num_classes), self._dtype, None, self._device), -1, self.unsqueeze(-1), 1)


def decomposed_one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """Turn class numbers into rows of zeros with a one; values that differ from element to element are not checked."""
    if self._dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() and self._batched is not None and self._batched[2].tangents_only:
        num_classes = checked_classes(int(self.min()), int(self.max()), num_classes)
    if num_classes <= 0:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
                           "argument.")
    return (self.unsqueeze(-1) == arange(num_classes, int64, None, self._device)).long()


operator("one_hot", composite=one_hot, batching=composed(decomposed_one_hot))
operator("_embedding_bag_per_sample_weights_backward", per_sample_weights_backward)
