"""The engine: runs the nodes of a graph backward, iteratively, in PyTorch's order."""
from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import AUTOGRAD, STRIDED
from .._dispatch.local import local, set_local
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from .anomaly import explain_failure
from .node import AccumulateGrad, Node, replaced
from .utils import reduce_grad

add = registry["add.Tensor"].call


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate the gradients of ``tensors`` into the leaves of their graph (``torch.autograd.backward``).

    Raises:
        RuntimeError: if a tensor has no graph, the graph was freed, or a gradient is needed and not given.
    """
    tensors = _as_sequence(tensors)
    targets = None if inputs is None else _as_sequence(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = _first_gradients(tensors, grad_tensors if grad_tensors is not None else grad_variables, create_graph)
    _run(tensors, grads, create_graph if retain_graph is None else retain_graph, create_graph, targets, True)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs`` (``torch.autograd.grad``).

    Raises:
        RuntimeError: as ``backward`` does, and if an input is not part of the graph unless ``allow_unused``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: False.")
    if is_grads_batched:
        raise ValueError("grad(): is_grads_batched needs vmap, which mindtorch does not have: loop over the gradients")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = _as_sequence(outputs), _as_sequence(inputs)
    grads = _first_gradients(outputs, grad_outputs, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    found = _run(outputs, grads, keep, create_graph, inputs, False)
    if materialize_grads:
        return tuple(registry["zeros_like"].call(x) if g is None else g for g, x in zip(found, inputs, strict=True))
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    return tuple(found)


def _as_sequence(value: Any) -> Sequence[Any]:
    return (value,) if value.__class__ in TENSOR_TYPES else tuple(value)


def _first_gradients(tensors: Sequence[Any], given: Any, create_graph: bool) -> list[Any]:
    """The gradients to start from: those given, or 1 for a scalar."""
    given = (None,) * len(tensors) if given is None else _as_sequence(given)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    grads = []
    for i, (tensor, gradient) in enumerate(zip(tensors, given, strict=True)):
        if gradient is None and tensor.requires_grad:
            if tensor.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if tensor._dtype.category != FLOATING:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype}")
            gradient = registry["ones_like"].call(tensor)
        elif gradient is not None:
            if gradient.__class__ not in TENSOR_TYPES:
                raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
            if gradient.shape != tensor.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of "
                    f"{tensor.shape}."
                )
            if gradient._dtype.is_complex != tensor._dtype.is_complex:
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                    f"dtype: grad_output[{i}] has a dtype of {gradient.dtype} and output[{i}] has a dtype of {tensor.dtype}."
                )
        grads.append(gradient)
    return grads


def _run(tensors: Sequence[Any], grads: list[Any], keep_graph: bool, create_graph: bool, inputs: Sequence[Any] | None,
         accumulate: bool) -> list[Any]:
    active = local.pipeline
    if active is not None:  # backward runs what is pending, and is not recorded itself
        active.flush()
        set_local("pipeline", None)
        try:
            return _run(tensors, grads, keep_graph, create_graph, inputs, accumulate)
        finally:
            set_local("pipeline", active)
    roots = []
    for i, tensor in enumerate(tensors):
        if not tensor._keys & AUTOGRAD:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        roots.append(tensor._grad_edge())
    captures: dict[Node, list[tuple[int, int]]] = {}
    found: list[Any] = []
    if inputs is not None:
        found = [None] * len(inputs)
        for i, tensor in enumerate(inputs):
            if not tensor._keys & AUTOGRAD:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            node, number = tensor._grad_edge()
            captures.setdefault(node, []).append((number, i))
    dependencies = _count_dependencies(roots)
    needed = None if inputs is None else _nodes_above(captures, roots)
    before = local.grad_enabled
    if before != create_graph:
        set_local("grad_enabled", create_graph)
    try:
        buffers: dict[Node, list[Any]] = {}
        ready: list[tuple[int, int, Node]] = []
        for (node, number), gradient in zip(roots, grads, strict=True):
            _deliver(buffers, node, number, gradient)
        for node in dict.fromkeys(node for node, _ in roots):
            if not dependencies.get(node):
                heappush(ready, (-node.sequence_nr, id(node), node))
        while ready:
            node = heappop(ready)[2]
            gradients = buffers.pop(node)
            if node.__class__ is AccumulateGrad:
                gradient = gradients.pop()
                _arrive(node, gradient, create_graph, captures.get(node), found, needed, accumulate)
                continue
            if node.tensor_hooks or node.retained or node.pre_hooks:
                gradients = node.run_pre_hooks(gradients)
            if node in captures:
                for number, i in captures[node]:
                    found[i] = gradients[number]
                    if accumulate and gradients[number] is not None:
                        accumulate_into(inputs[i], gradients[number], create_graph)  # type: ignore[index]
            if needed is not None and node not in needed:
                continue
            try:
                outputs = node.apply(gradients)
            except Exception as error:
                explain_failure(node, error)
                raise
            if not keep_graph:
                node.release()
            if node.post_hooks:
                outputs = node.run_post_hooks(outputs, gradients)
            if checks:
                for check in checks:
                    check(node, outputs)
            i = -1
            for edge in node.edges:
                i += 1
                if edge is None:
                    continue
                target, number = edge
                gradient = outputs[i]
                if gradient is not None and (needed is None or target in needed or target in captures):
                    _deliver(buffers, target, number, gradient)
                left = dependencies[target] = dependencies[target] - 1
                if not left:
                    if target not in buffers:
                        buffers[target] = [None] * max(len(target.shapes), 1)
                    heappush(ready, (-target.sequence_nr, id(target), target))
                gradient = None  # so that a leaf may see that nobody else holds it
            outputs = gradients = None
    finally:
        if local.grad_enabled != before:
            set_local("grad_enabled", before)
    return found


#: Called as ``check(node, outputs)`` after every node; anomaly mode puts its test for NaN here.
checks: list[Any] = []


def _count_dependencies(roots: list[tuple[Node, int]]) -> dict[Node, int]:
    """How many edges of the graph lead into each node."""
    counts: dict[Node, int] = {}
    stack = list(dict.fromkeys(node for node, _ in roots))
    seen = set(stack)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in counts:
                    counts[node] += 1
                else:
                    counts[node] = 1
                    if node not in seen:
                        stack.append(node)
    return counts


def _nodes_above(captures: dict[Node, Any], roots: list[tuple[Node, int]]) -> set[Node]:
    """The nodes that have to run so that gradients reach the captures."""
    needed: set[Node] = set()
    finished: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node, _ in roots]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            if any(edge is not None and (edge[0] in captures or edge[0] in needed) for edge in node.edges):
                needed.add(node)
            finished.add(node)
        elif node not in finished:
            stack.append((node, True))
            stack.extend((edge[0], False) for edge in node.edges if edge is not None and edge[0] not in finished)
    return needed


def _deliver(buffers: dict[Node, list[Any]], node: Node, number: int, gradient: Any) -> None:
    """Bring a gradient into the form of the output it belongs to, and add it to what has arrived."""
    if gradient is not None:
        array = gradient._array
        if node.__class__ is AccumulateGrad:
            variable = node.variable  # type: ignore[attr-defined]
            expected, dtype = variable._shape or variable.shape, variable._dtype
        else:
            expected, dtype = node.shapes[number], node.dtypes[number]
        if (gradient.shape if array is None else array.shape) != expected:
            gradient = fitted(gradient, expected, node)
        if gradient._dtype is not dtype:
            gradient = converted(gradient, dtype)
    have = buffers.get(node)
    if have is None:
        if number == 0 and len(node.shapes) < 2:
            buffers[node] = [gradient]
            return
        have = buffers[node] = [None] * len(node.shapes)
    if have[number] is None:
        have[number] = gradient
    elif gradient is not None:
        have[number] = add(have[number], gradient)


def fitted(gradient: Any, shape: Any, node: Node) -> Any:
    """A gradient summed to the shape of a broadcast input.

    Raises:
        RuntimeError: if it cannot be.
    """
    have = gradient.shape
    extra = len(have) - len(shape)
    if extra < 0 or any(size not in (1, have[d + extra]) for d, size in enumerate(shape)):
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient - got {list(have)} but expected shape compatible with "
            f"{list(shape)}"
        )
    return reduce_grad(gradient, shape)


def converted(gradient: Any, dtype: Any) -> Any:
    """A gradient in the dtype of its tensor."""
    if gradient._dtype.is_complex and not dtype.is_complex:
        gradient = registry["real"].call(gradient)
    return gradient.to(dtype)


def _arrive(node: AccumulateGrad, gradient: Any, create_graph: bool, capture: Any, found: list[Any], needed: Any,
            accumulate: bool) -> None:
    """A leaf's gradient is complete: run its hooks, capture it, accumulate it."""
    variable = node.variable
    if variable._hooks and gradient is not None:
        for hook in list(variable._hooks.values()):
            gradient = replaced(hook(gradient), gradient)
    if node.pre_hooks:
        gradient = node.run_pre_hooks([gradient])[0]
    if capture is not None:
        for _, i in capture:
            found[i] = gradient
    if gradient is not None and accumulate and (needed is None or capture is not None):
        accumulate_into(variable, gradient, create_graph)
        if node.post_hooks:
            node.run_post_hooks((), [gradient])
        for hook in list((variable._post_accumulate_hooks or {}).values()):
            hook(variable)


def accumulate_into(variable: Any, gradient: Any, create_graph: bool) -> None:
    """Add a gradient to ``variable.grad``. The first one is taken as it is if nobody else can see it."""
    have = variable._grad
    if have is None:
        if create_graph:
            variable._grad = registry["clone"].call(gradient)
        elif (gradient._base is None and not (gradient._keys | variable._keys) & STRIDED
              and gradient._storage is None and getrefcount(gradient) <= 4):
            gradient._keys &= ~AUTOGRAD
            gradient._grad_fn = None
            variable._grad = gradient
        else:
            variable._grad = like_variable(gradient, variable)
    elif create_graph:
        variable._grad = add(have, gradient)
    else:
        registry["add_.Tensor"].call(have, gradient)


def like_variable(gradient: Any, variable: Any) -> Any:
    """A copy of a gradient with the strides of a dense variable, contiguous otherwise."""
    if variable._keys & STRIDED and variable._is_dense():
        out = registry["empty_strided"].call(variable.shape, variable._strides(), gradient._dtype, None, gradient._device)
        return registry["copy_"].call(out, gradient.detach())
    return registry["clone"].call(gradient.detach(), "contiguous_format")


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Refuse what cannot be a tensor's gradient.

    Raises:
        TypeError: if it is no tensor.
        RuntimeError: if its shape, dtype or device is not the tensor's.
    """
    if value.__class__ not in TENSOR_TYPES:
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._dtype is not tensor._dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with grad dtype '{tensor.dtype}'. "
            "The gradient must match the tensor's dtype."
        )
    if value._device != tensor._device:
        raise RuntimeError(f"assigned grad has data located on a different device: {value.device} and {tensor.device}")
    if value.shape != tensor.shape:
        raise RuntimeError(f"assigned grad has data of a different size: {list(value.shape)} and {list(tensor.shape)}")
