"""``torch.distributed.algorithms.ddp_comm_hooks.default_hooks``: averages, also of shorter numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dtype import DType, bfloat16, float16
from ....nn.parallel.distributed import GradBucket
from ..._collectives.groups import resolve
from ..._collectives.operations import all_reduce

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]
Hook = Callable[[Any, Any], Any]


def _averaged(group: Any, bucket: GradBucket, dtype: DType) -> Any:
    """Return the future of averages that travel in a dtype."""
    group, buffer = resolve(group), bucket.buffer()
    work = all_reduce(buffer.to(dtype).div_(group.size()), group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: buffer.copy_(future.value()[0]))


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Average as without a hook (``torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook``)."""
    return _averaged(process_group, bucket, bucket.buffer().dtype)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Average in float16."""
    return _averaged(process_group, bucket, float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Any:
    """Average in bfloat16."""
    return _averaged(process_group, bucket, bfloat16)


class _Shorter:
    """A bucket whose gradients are in another dtype."""

    def __init__(self, bucket: GradBucket, dtype: DType):
        self._bucket, self._buffer = bucket, bucket.buffer().to(dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

    def buffer(self) -> Any:
        """Return the gradients in the other dtype."""
        return self._buffer


def _wrapped(hook: Hook, dtype: DType) -> Hook:
    def call(state: Any, bucket: GradBucket) -> Any:
        return hook(state, _Shorter(bucket, dtype)).then(lambda future: bucket.buffer().copy_(future.value()))

    return call


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that runs another one on float16."""
    return _wrapped(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a hook that runs another one on bfloat16."""
    return _wrapped(hook, bfloat16)
