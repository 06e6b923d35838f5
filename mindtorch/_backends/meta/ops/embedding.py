"""Meta kernels of embeddings."""
from __future__ import annotations

from typing import Any

from ...._base.errors import NAMES, check, type_string
from ...._base.layout import Spec
from ...._dtype import FLOATING, int32, int64, promote_types
from . import META_KERNELS

SUM, MEAN, MAX = 0, 1, 2


def check_indices(caller: str, indices: Any, number: int = 1, name: str = "indices") -> None:
    check(indices._dtype in (int32, int64),
          lambda: f"Expected tensor for argument #{number} '{name}' to have one of the following scalar types: Long, "
                  f"Int; but got torch.{NAMES[indices._dtype.name]}Tensor instead (while checking arguments for "
                  f"{caller})", kind="index dtype")


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Spec:
    check(weight.ndim == 2, "'weight' must be 2-D")
    check_indices("embedding", indices)
    return Spec((*indices.shape, weight.shape[1]), weight._dtype)


def embedding_renorm_(self: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    check(self.dim() == 2, lambda: f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for "
          "argument #1 'self' (while checking arguments for embedding_renorm_)")
    check_indices("embedding_renorm_", indices, 2)
    check(self._dtype.category >= FLOATING or not indices.numel(), lambda: "norm(): input dtype should be either "
          f"floating point or complex. Got {NAMES[self._dtype.name]} instead.")


def embedding_dense_backward(grad_output: Any, indices: Any, num_weights: int, padding_idx: int,
                             scale_grad_by_freq: bool) -> Spec:
    check_indices("embedding_backward", indices, 2)
    width = grad_output.shape[-1]
    check(indices.numel() * width == grad_output.numel(),
          lambda: f"shape '[{indices.numel()}, {width}]' is invalid for input of size {grad_output.numel()}")
    return Spec((num_weights, width), grad_output._dtype)


def embedding_bag(weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
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


def per_sample_weights_backward(grad: Any, weight: Any, indices: Any, *rest: Any) -> Spec:
    return Spec((indices.shape[0],), grad._dtype)


META_KERNELS.add(embedding, embedding_renorm_, embedding_dense_backward)
META_KERNELS.update({
    "_embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
    "_embedding_bag_backward": embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward": per_sample_weights_backward,
})
