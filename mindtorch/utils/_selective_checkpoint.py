"""The choice, operator by operator, of results that a checkpoint keeps and those that it recomputes
(``create_selective_checkpoint_contexts``).
"""
from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from .._dispatch.aten import detach
from .._dispatch.overloads import OpOverload, OpOverloadPacket, ops
from .._tensor import Tensor
from .._transforms.pytree import tree_map
from ._python_dispatch import TorchDispatchMode

MISMATCH = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global "
            "state that changed between forward and backward.")


class CheckpointPolicy(Enum):
    """What a checkpoint does with an operator's result (``torch.utils.checkpoint.CheckpointPolicy``); nothing is moved
    to another device.
    """

    MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, MUST_CPU_OFFLOAD, PREFER_CPU_OFFLOAD = range(6)


class SelectiveCheckpointContext:
    """A policy's information about a call (``torch.utils.checkpoint``): ``op_output`` is its result."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output


class _Cached:
    """A result that was kept, as it was written then."""

    def __init__(self, value: Any):
        self.value = detach(value) if isinstance(value, Tensor) else value
        self.version = self.value._version if isinstance(value, Tensor) else 0

    def get(self, mutable: bool) -> Any:
        if isinstance(self.value, Tensor) and not mutable and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


RECOMPUTED, TAKEN = object(), object()


class _Counting(TorchDispatchMode):
    """A mode that counts each operator's calls, except ``detach``, which autograd calls at will."""

    def __init__(self, storage: dict[OpOverload, list[Any]]):
        super().__init__()
        self.storage, self.counts = storage, {}  # type: ignore[var-annotated]

    def __enter__(self) -> Any:
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, or look for its result."""
        if func is ops.aten.detach.default:
            return func(*args, **(kwargs or {}))
        number = self.counts[func] = self.counts.get(func, -1) + 1
        return self.call(func, number, args, kwargs or {})

    def call(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        raise NotImplementedError


class _CachingTorchDispatchMode(_Counting):
    """In forward: keeps the results that the policy says."""

    def __init__(self, policy: Callable[..., Any], storage: dict[OpOverload, list[Any]]):
        super().__init__(storage)
        self.policy = policy

    def call(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        chosen = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        saves = chosen if isinstance(chosen, bool) else chosen in (CheckpointPolicy.MUST_SAVE,
                                                                   CheckpointPolicy.PREFER_SAVE)
        self.storage.setdefault(func, []).append(tree_map(_Cached, out) if saves else RECOMPUTED)
        return out


class _CachedTorchDispatchMode(_Counting):
    """The mode of the second call: it returns the kept results."""

    def __init__(self, storage: dict[OpOverload, list[Any]], mutable: bool):
        super().__init__(storage)
        self.mutable = mutable

    def call(self, func: Any, number: int, args: Any, kwargs: Any) -> Any:
        kept = self.storage.get(func, ())
        if number >= len(kept):
            which = f"invocation index {number} " if kept else ""
            raise RuntimeError(f"{func} {which}encountered during backward but not found in storage. {MISMATCH}")
        entry = kept[number]
        if entry is RECOMPUTED:
            return func(*args, **kwargs)
        if entry is TAKEN:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region "
                               "computed under selective activation checkpoint.")
        kept[number] = TAKEN  # type: ignore[index]
        return tree_map(lambda cached: cached.get(self.mutable), entry)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """Return the two blocks for ``checkpoint``'s ``context_fn`` that keep some operators' results in place of computing
    them again (``torch.utils.checkpoint.create_selective_checkpoint_contexts``).

    A policy is a list of the operators to keep, or a function that takes a ``SelectiveCheckpointContext``, the operator
    and its arguments and returns a ``CheckpointPolicy``. Raises ValueError for a list of anything but operators such as
    ``torch.ops.aten.mm.default``, and TypeError for what is neither a list nor a function, and RuntimeError in
    backward, if what was kept has been written to, unless ``allow_cache_entry_mutation``; if the second call runs other
    operators; on a second backward pass.
    """
    policy = policy_fn_or_list
    if isinstance(policy, list):
        for op in policy:
            if not isinstance(op, OpOverload):
                more = ("Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
                        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                        if isinstance(op, OpOverloadPacket) else "")
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                                 f"{more}")
        wanted = set(policy)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in wanted
    elif not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[OpOverload, list[Any]] = {}
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(storage, allow_cache_entry_mutation)
