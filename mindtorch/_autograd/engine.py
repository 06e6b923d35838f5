"""The engine: runs the nodes of a graph backward, iteratively, in PyTorch's order."""
from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from heapq import heappop, heappush
from math import prod
from operator import is_not, or_
from types import MappingProxyType
from typing import Any

from .._base.about import about, note
from .._base.call_site import warn_once
from .._base.size import Size
from .._dispatch import dispatcher
from .._dispatch.aten import (
    add__Tensor as add_, add_Tensor as add, ones, ones_like, real, stack as stack_tensors, zeros_like,
)
from .._dispatch.dispatcher import KEYS, TENSOR_TYPES, in_cpp, is_seen, set_local
from .._dispatch.keys import AUTOGRAD, OBSERVED, PYTHON
from .._dispatch.local import local
from .._dispatch.observers import tell_parts
from .._dtype import FLOATING
from .accumulate import AccumulateGrad, accumulate, can_accumulate_inplace
from .anomaly import AnomalyMode, check_nan, explain_failure, tell_node
from .node import Edge, GradientEdge, Node, Sent, new, unfolding
from .parts import add_to_part
from .utils import ON_CPU, REDIRECTED, can_expand, reduce_grad

IS_GIVEN = partial(is_not, None)
#: The options of the call of ``ones_like`` with which a backward pass starts, as a tracer sees PyTorch make it.
AS_OUTPUT = None, None, None, False, "preserve_format"
Link = tuple[int, Node, int]
CYCLE = ("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
         "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If "
         "you have to use this function, make sure to reset the .grad fields of your parameters to None after use to "
         "break the cycle and avoid the leak.")


class Task(Node):
    """One backward pass, and the root of its graph (PyTorch's GraphTask and GraphRoot)."""

    roots: Sequence[Edge] = ()
    keep_graph = False
    needed: set[Node] | None = None  #: the nodes that have to run; None for all
    narrowed: set[Node] | None = None  #: those of them that need not compute all gradients; None if each node does
    joins: dict[Node, int] | None = None  #: the number of edges into each node that has several, once counted
    _holds = False
    #: node -> [(number of output, position among the inputs)]
    captures: Mapping[Node, list[tuple[int, int]]] = MappingProxyType({})
    found: Any = ()  #: the gradients of the inputs
    node: Node | None = None  #: the running node; leaves only if watched
    callbacks: tuple[Any, ...] = ()  #: called at the end of the pass

    @property
    def _links(self) -> tuple[Link, ...]:  # type: ignore[override]
        return tuple([(i, *root) for i, root in enumerate(self.roots)])

    def apply(self, grads: list[Any]) -> list[Any]:
        """Return the gradients of several roots."""
        return grads

    def look_for(self, inputs: Sequence[Edge], capture: bool) -> None:
        """Run only the nodes needed for the gradients of these inputs; return those gradients if ``capture``."""
        targets = {node for node, _ in inputs}
        for node in targets:
            node.unfold()
        reached, self.joins = self.count()
        for node in reached:
            if (node in targets) is not (not node._links):
                self.narrow(targets)
                break
        else:  # every path ends at a target, and none leads on
            self.needed = reached - targets
        if capture:
            captures: dict[Node, list[tuple[int, int]]] = {}
            for position, (node, number) in enumerate(inputs):
                captures.setdefault(node, []).append((number, position))
            self.found, self.captures = [None] * len(inputs), captures
        else:
            self.needed |= targets  # type: ignore[operator]

    def narrow(self, targets: set[Node]) -> None:
        """Run only the nodes above these targets. Some of these nodes compute only some of their gradients."""
        self.joins = None  # nodes that unfold have other edges
        with unfolding:
            self.needed, narrowed = nodes_above(self, targets)
            while narrowed and sum([node.unfold() for node in self.needed | narrowed]):
                self.needed, narrowed = nodes_above(self, targets)
        if narrowed:
            self.narrowed = narrowed - {self}  # without itself, to avoid a reference cycle

    def count(self: Node) -> tuple[set[Node], dict[Node, int]]:
        """Return the nodes of the graph, and the number of edges into each node that has several."""
        seen: set[Node] = set()
        joins: dict[Node, int] = {}
        nodes: list[Node] = [self]
        add, append = seen.add, nodes.append
        for node in nodes:
            for _, target, _ in node._links:
                if target not in seen:
                    add(target)
                    append(target)
                elif target in joins:
                    joins[target] += 1
                else:
                    joins[target] = 2
        return seen, joins

    def unfold_all(self) -> None:
        """Unfold all nodes that stand for several."""
        while sum([node.unfold() for node in self.count()[0] if node is not self]):
            pass

    def wanted_of(self, node: Node) -> set[int] | None:
        """Return the positions of a node's inputs whose gradients are needed, or None for all, as outside this pass."""
        if self.narrowed is None or node not in self.narrowed:
            return None
        return {i for i, *_ in self.needed_among(node._links)}

    def needed_among(self, links: Sequence[Link]) -> list[Link]:
        """Return the links whose gradients are needed: by nodes that run, or because they are captured."""
        return [link for link in links if link[1] in self.captures or self.runs(link[1])]

    def runs(self, node: Node) -> bool:
        """Return True if a node whose gradients have arrived runs: others only have theirs captured. All do without
        inputs to look for; a node that has unfolded since is run if no node was narrowed.
        """
        return (self.needed is None or node in self.needed or node is self
                or (self.narrowed is None and node not in self.captures))

    def keep(self, node: Node, gradients: list[Any]) -> None:
        """Keep the gradients that arrived at a node and are to be returned."""
        for number, position in self.captures[node]:
            self.found[position] = gradients[number]

    def finish(self) -> None:
        """Run the callbacks, which may add further ones."""
        while self.callbacks:
            (callback, *_), self.callbacks = self.callbacks, self.callbacks[1:]
            callback()

    def run_of(self, nodes: Sequence[Node]) -> int:
        """Return how many of these nodes receive gradients in this pass."""
        reached, _ = self.count()
        if self.needed is not None:
            reached &= self.needed | set(self.captures)
        return sum(node in reached for node in nodes)


def nodes_above(root: Node, targets: set[Node]) -> tuple[set[Node], set[Node]]:
    """Return the nodes below the root with a path to a target; and which of them, the targets and the root have links
    that lead to none.
    """
    above: set[Node] = set()
    narrowed: set[Node] = set()
    entered: set[Node] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if node not in entered:
            entered.add(node)
            stack += [target for _, target, _ in node._links if target._links and target not in entered]
            continue
        stack.pop()
        count, links = 0, node._links
        for _, target, _ in links:
            if target in targets or target in above:
                count += 1
        if count:
            above.add(node)
        if count < len(links) and (count or node is root or node in targets):
            narrowed.add(node)
    above.discard(root)
    return above, narrowed


class Buffers(dict[Node, tuple[list[Any], list[bool]]]):
    """The gradients of nodes that are not ready: the sum for each output, and whether each is own."""

    def add(self, target: Node, number: int, gradient: Any, own: bool) -> tuple[list[Any], bool]:
        """Add a gradient to a node's sums; return them, and whether the only one is own."""
        have = self.get(target)
        if have is None:
            count = 1 if target._out_shape is not None else len(target._outputs)
            have = self[target] = [None] * count, [False] * count
        sums, owned = have
        if sums[number] is None:
            sums[number], owned[number] = gradient, own
        elif gradient is not None:
            if owned[number] and can_accumulate_inplace(sums[number], gradient):
                add_(sums[number], gradient)
            else:
                sums[number], owned[number] = add(sums[number], gradient), not local.grad_enabled
        return sums, owned == [True]

    def add_part(self, node: Node, gradient: Any) -> bool:
        """Add a gradient that arrived at a node of a part to its target's sum, if that is own; return whether it is."""
        _, target, number = node._links[0]
        have = self.get(target)
        return have is not None and have[1][number] and gradient is not None and add_to_part(
            node, gradient, have[0][number])


def execute(roots: Sequence[Edge], gradients: Sequence[Any], retain_graph: bool | None, create_graph: bool,
            inputs: Sequence[Edge] | None = None, capture: bool = False, own: bool = False) -> Any:
    """Run the graph below ``roots`` backward from their gradients. With ``own``, a leaf may take them; in PyTorch, a
    leaf that is a root never does.

    With ``inputs``, only the nodes that their gradients need run. With ``capture``, those gradients are returned and
    not accumulated.
    """
    if (active := local.pipeline) is not None and not active.records_backward:  # it is flushed, and records nothing
        active.flush()
        set_local("pipeline", None)
        try:
            return execute(roots, gradients, retain_graph, create_graph, inputs, capture, own)
        finally:
            set_local("pipeline", active)
    task = new(Task)
    task.roots, task.keep_graph = roots, create_graph if retain_graph is None else retain_graph
    seen = bool(local.dispatch_modes or reduce(or_, map(KEYS, filter(IS_GIVEN, gradients)), 0) & PYTHON)
    if seen or create_graph or AnomalyMode.enabled:
        task.unfold_all()
    if inputs is not None:
        task.look_for(inputs, capture)
    outer, before, local.task, local.grad_enabled = local.task, local.grad_enabled, task, create_graph
    try:
        run(task, roots, gradients, own, create_graph, seen)
        if task.callbacks:
            task.finish()
        return task.found
    except Exception as error:
        failed = task.node
        if failed is not None and failed is not task:
            tell_node(error, failed)
            if AnomalyMode.enabled:
                explain_failure(failed)
        raise
    finally:
        local.task, local.grad_enabled = outer, before


def run(task: Task, roots: Sequence[Edge], gradients: Sequence[Any], own: bool, create_graph: bool,
        seen: bool) -> None:
    """Pass gradients from node to node, starting with the roots' gradients.

    A node is ready once a gradient has come through each edge into it. Among the ready nodes the latest runs first.
    Leaves run at once, or in their turn if the operators are observed, as in PyTorch. A gradient is ``own`` if only the
    engine refers to its memory: then it may be written to, or become a leaf's ``.grad``. With ``create_graph`` none is,
    because the recorded nodes may have saved it.
    """
    arrived: list[Any]  # the node's incoming gradients; if there is only one, ``own`` holds of it
    ready: list[tuple[int, Node, list[Any], bool]]  # a heap
    joins: dict[Node, int] | None  # counted at the first node with several edges: before it there is a chain
    watched, captures = seen or create_graph or task.narrowed is not None or AnomalyMode.enabled, task.captures
    joins, buffers, ready = task.joins, Buffers(), []
    task.node, arrived = at_root(task, *roots[0], gradients[0]) if len(roots) == 1 else (task, [*gradients])
    while True:
        if (node := task.node)._hooks is not None or watched or node in captures or node.__class__ is AccumulateGrad:
            results = run_watched(node, arrived, task, create_graph, own)
            own = own and node._hooks is None and node not in captures
        else:
            results = [None] if node._part and buffers.add_part(node, arrived[0]) else node.apply(arrived)
            if node._holds and not task.keep_graph:
                node.release_variables()
        links = results.links if results.__class__ is Sent else node._links
        if len(links) > 1 and joins is None:
            joins = task.joins = {} if node._ends else Task.count(node)[1]
        makes = node._makes_gradients and not create_graph and (node._hooks is None or not node._hooks.post)
        gives_own = makes and (node._gives_own or (own and len(links) == 1))
        for position, target, number in task.needed_among(links) if watched else links:
            gradient, mine = results[position], False
            if gradient is not None:
                array, mine = gradient._array, gives_own or (makes and is_own(gradient, results, arrived, own))
                if array is None or array.shape != target._out_shape or gradient._dtype is not target._out_dtype:
                    gradient, mine = fit(gradient, target._outputs[number], node, position, mine)
            if joins and target in joins:
                given, mine = buffers.add(target, number, gradient, mine)
                joins[target] -= 1
                if joins[target]:
                    continue
                del buffers[target]
            else:
                given = [gradient] if target._out_shape is not None else target.with_only(number, gradient)
            if target.__class__ is not AccumulateGrad or seen:
                heappush(ready, (-target._order, target, given, mine))
            elif watched or target._hooks is not None or target.variable._hooks:
                run_watched(target, given, task, create_graph, mine)
            elif target not in captures:
                accumulate(target.variable, given[0], mine, False)
            else:
                task.keep(target, given)
        results = gradient = array = given = None  # type: ignore[assignment]  # only a node refers to its gradients
        if not ready:
            return
        _, task.node, arrived, own = heappop(ready)


def at_root(task: Task, node: Node, number: int, gradient: Any) -> tuple[Node, list[Any]]:
    """Return the only root and the gradients of its outputs."""
    if gradient is not None and ((array := gradient._array) is None or array.shape != node._out_shape
                                 or gradient._dtype is not node._out_dtype):  # ``gradcheck`` gives none
        gradient, _ = fit(gradient, node._outputs[number], task, 0)
    return node, [gradient] if node._out_shape is not None else node.with_only(number, gradient)


def is_own(gradient: Any, results: Sequence[Any], arrived: Sequence[Any], own: bool) -> bool:
    """Return True if nothing else refers to the memory of a gradient among the ``results`` of a node: it is new, or it
    ``arrived`` there and was ``own``. It cannot be a saved tensor, because a derivative is linear in its gradients.
    Tensors that share memory share a version counter; a tensor without views has none.
    """
    cell = gradient._version_counter
    if cell is None and len(results) == len(arrived) == 1:
        return own or gradient is not arrived[0]
    if len(results) > 1:
        count = 0
        for other in results:
            if other is gradient or (cell is not None and other is not None and other._version_counter is cell):
                count += 1
        if count > 1:
            return False
    for other in arrived:
        if other is gradient or (cell is not None and other is not None and other._version_counter is cell):
            return own
    return True


def run_watched(node: Node, gradients: list[Any], task: Task, create_graph: bool, own: bool) -> list[Any]:
    """Run a node if it is needed. It has hooks, its gradients are captured or observed, or anomaly mode is on."""
    node.unfold()
    runs = task.runs(node)
    sender, task.node = task.node, node
    if not runs:
        node.run_tensor_hooks(gradients)
    if node in task.captures:
        task.keep(node, gradients)
    if not runs:
        return Sent()
    hooks = node._hooks
    if node.__class__ is AccumulateGrad:
        node.own = own and hooks is None and not node.variable._hooks
    node.run_tensor_hooks(gradients)
    if hooks is not None:
        gradients = hooks.run_pre_hooks(gradients)
    arrived = tuple(gradients) if hooks is not None and hooks.post else ()
    seen = any(g is not None and is_seen(g) for g in gradients)
    results = in_cpp(node.apply)(gradients) if seen or create_graph else node.apply(gradients)
    if seen or (hooks is not None and hooks.post):
        for position, target, number in node._links:
            if results[position] is not None:
                results[position], _ = fit(results[position], target._outputs[number], node, position)
    if hooks is not None and hooks.post:
        results = hooks.run_post_hooks(results, arrived)
    if AnomalyMode.enabled and AnomalyMode.check_nan:
        check_nan(node, results)
    if not task.keep_graph:
        node.release_variables()
    local.grad_enabled = create_graph  # a hook may have changed it
    if node.__class__ is AccumulateGrad:
        task.node = sender
    return results


def fit(gradient: Any, output: Any, source: Node, position: int, own: bool = False) -> tuple[Any, bool]:
    """Sum a gradient to its output's shape and convert it to its dtype; return it and whether it is now ``own``.

    Raises:
        RuntimeError: if its shape, dtype or device does not allow it.
    """
    shape, dtype, device = output
    given = gradient
    if dtype is None:
        dtype = gradient._dtype
    if gradient._dtype.is_complex and not dtype.is_complex and not source._keeps_dtype:
        gradient = real(gradient)
    if gradient.shape != shape:
        if not can_expand(shape, tuple(gradient.shape)):
            raise about(_invalid(source, position, f"got {list(gradient.shape)} but expected shape compatible with "
                                                   f"{list(shape)}"),
                        "gradient returned", function=source.name(), number=position, got=gradient.shape, wanted=shape)
        gradient = reduce_grad(gradient, shape)
    if gradient._dtype is not dtype:
        if gradient._dtype.is_complex and not dtype.is_complex:
            raise _invalid(source, position, f"got {gradient.dtype} but expected {dtype}, which is real")
        gradient = gradient.to(dtype)
    if gradient._device != device:
        if gradient.ndim:
            raise _invalid(source, position, f"expected device {device} but got {gradient.device}")
        gradient = gradient.to(device)
    return gradient, own or (gradient is not given and gradient._version_counter is None)


def _invalid(source: Node, position: int, reason: str) -> RuntimeError:
    function = "" if source.__class__ is Task else f"Function {source.name()} returned an "
    return RuntimeError(f"{function}invalid gradient at index {position} - {reason}")


# -- torch.autograd.backward and torch.autograd.grad -------------------------------------------------------------------


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate the gradients of ``tensors`` into the leaves of their graph (``torch.autograd.backward``).

    With ``inputs`` (tensors or gradient edges), accumulate only into those.

    Raises:
        RuntimeError: if a tensor has no graph, the graph was freed, or a required gradient is missing; also inside
        ``vmap`` and function transforms.
    """
    if local.transforms or local.frames:
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use "
                           "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
                           "transforms.")
    try:
        alone = grad_tensors is grad_variables is inputs is None and tensors.__class__ in TENSOR_TYPES
        if alone and not create_graph and tensors._keys & AUTOGRAD and (edge := tensors._grad_edge()) is not None:
            execute((edge,), (one_like(tensors),), retain_graph, False, own=tensors._grad_fn is not None)
            return
        if create_graph:
            warn_once(CYCLE)
        if grad_variables is not None:
            warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
            if grad_tensors is not None:
                raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                                   "`backward()`. Please only use `grad_tensors`.")
            grad_tensors = grad_variables
        wanted = None
        if inputs is not None:
            wanted = _as_tuple(inputs, "backward")
            if not wanted:
                raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        roots, gradients = _roots(tensors, grad_tensors)
        execute(roots, gradients, retain_graph, create_graph,
                None if wanted is None else [_input_edge(t, True) for t in wanted])
    except Exception as error:
        note(error, "backward", (tensors,))
        raise


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs``, as a tuple, or as a dict if ``inputs`` is one
    (``torch.autograd.grad``).

    With ``is_grads_batched``, each of ``grad_outputs`` and each result has an extra leading dimension.

    Raises:
        RuntimeError: as ``backward`` does; also if an input is not part of the graph, unless ``allow_unused``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                      "gradient for other parts of the graph, please use "
                      "torch.autograd.backward.", FutureWarning, stacklevel=2)
    wanted = _as_tuple(inputs, "grad")
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    keep_graph = create_graph if retain_graph is None else retain_graph

    def run(given: Any, keep: bool) -> list[Any]:
        roots, gradients = _roots(outputs, given)
        found: list[Any] = execute(roots, gradients, keep, create_graph, [_input_edge(t, False) for t in wanted], True)
        return found

    try:
        found = _run_batch(run, grad_outputs, keep_graph) if is_grads_batched else run(grad_outputs, keep_graph)
        for i, (gradient, tensor) in enumerate(zip(found, wanted, strict=True)):
            if gradient is None and materialize_grads:
                if isinstance(tensor, GradientEdge):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                found[i] = zeros_like(tensor).detach().requires_grad_(create_graph)
            elif gradient is None and not allow_unused:
                raise about(RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the "
                                         "graph. Set allow_unused=True if this is the desired behavior."),
                            "unused input", number=i)
    except Exception as error:
        note(error, "grad", (outputs, inputs))
        raise
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def _run_batch(run: Any, grad_outputs: Any, keep_graph: bool) -> list[Any]:
    """Run one backward pass for each of a batch of gradients, and stack the results."""
    batches = _as_tuple(grad_outputs, "grad")
    size = next(len(b) for b in batches if b is not None)
    rows = [run([None if b is None else b[i] for b in batches], keep_graph or i < size - 1) for i in range(size)]
    return [None if column[0] is None else stack_tensors(list(column), 0) for column in zip(*rows, strict=True)]


def _as_tuple(value: Any, function: str) -> tuple[Any, ...]:
    """Return tensors or gradient edges as a tuple. They may be given as a single one, a sequence, or a dict."""
    if (kind := value.__class__) is tuple or kind is list:
        return (*value,)
    if kind in TENSOR_TYPES or isinstance(value, GradientEdge):
        return (value,)
    if type(value) is dict:
        return tuple(value.values())
    if isinstance(value, Mapping):
        raise TypeError(f"`inputs` argument to `{function}()` must be a dict, not {type(value).__name__}. Other "
                        "Mapping types are not supported.")
    return tuple(value)


def _input_edge(tensor: Any, accumulate: bool) -> Edge:
    """Return the edge at which the gradient of an input arrives. If it is to accumulate, make a non-leaf retain it."""
    if tensor.__class__ not in TENSOR_TYPES:
        if isinstance(tensor, GradientEdge):
            return (tensor.node, tensor.output_nr)
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
    if accumulate:
        tensor.retain_grad()
    if not tensor._keys & AUTOGRAD:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return tensor._grad_edge() or (Node(), 0)  # a node that receives no gradient


def _roots(outputs: Any, given: Any) -> tuple[list[Edge], list[Any]]:
    """Return the edges of the tensors to differentiate, and their gradients: those given, or 1 for a scalar."""
    outputs = _as_tuple(outputs, "backward")
    given = (None,) * len(outputs) if given is None else _as_tuple(given, "backward")
    gradients: list[Any] = []
    edges: list[Edge] = []
    for output, gradient in zip(outputs, given, strict=False):
        gradients.append(_one(output) if gradient is None else _checked(output, gradient, len(gradients)))
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    for output in outputs:
        if output.__class__ not in TENSOR_TYPES:
            edges.append((output.node, output.output_nr))
        elif not output._keys & AUTOGRAD or (edge := output._grad_edge()) is None:
            raise about(RuntimeError(f"element {len(edges)} of tensors does not require grad and does not have a "
                                     "grad_fn"), "no graph", number=len(edges))
        else:
            edges.append(edge)
    return edges, gradients


def _one(output: Any) -> Any:
    """Return the implicit gradient of an output: ones, or None if it does not require grad.

    Raises:
        AssertionError: if the output is not a tensor (PyTorch's choice).
        RuntimeError: if it is not a real scalar.
    """
    if output.__class__ in TENSOR_TYPES:
        return one_like(output) if output._keys & AUTOGRAD else None
    shape, dtype, device = _facts(output)
    _check_scalar(output, prod(shape), dtype)
    return ones(shape, dtype, None, device)


def one_like(output: Any) -> Any:
    """Return the gradient with which the backward pass of a tensor starts. Raises RuntimeError as ``_one`` does."""
    if (array := output._array) is None or array.ndim or output._dtype.category != FLOATING:
        _check_scalar(output, output.numel(), output._dtype)
    if array is None or array.ndim or output._keys & ~ON_CPU or dispatcher.mode & REDIRECTED:
        return ones_like(output, *AS_OUTPUT)
    result = output._one()
    if dispatcher.mode & OBSERVED:
        tell_parts(ones_like, (output, *AS_OUTPUT), result)
    return result


def _check_scalar(output: Any, count: int, dtype: Any) -> None:
    if count != 1:
        raise about(RuntimeError("grad can be implicitly created only for scalar outputs"),
                    "backward of many", output=output)
    if dtype.category != FLOATING:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")


def _facts(output: Any) -> tuple[Any, Any, Any]:
    """Return shape, dtype and device of a tensor, or of a gradient edge's output."""
    if output.__class__ in TENSOR_TYPES:
        return output.shape, output._dtype, output._device
    if isinstance(output, GradientEdge):
        described: Any = output.node._outputs[output.output_nr]
        shape, dtype, device = described
        return Size(shape), dtype, device
    raise AssertionError("Expected output to be a torch.Tensor")


def _checked(output: Any, gradient: Any, i: int) -> Any:
    """Check the gradient given for an output, and return it.

    Raises:
        AssertionError: if the output is not a tensor (PyTorch's choice).
        TypeError: if the gradient is not a tensor.
        RuntimeError: if its shape differs, or only one of the two is complex.
    """
    if (output.__class__ in TENSOR_TYPES and gradient.__class__ in TENSOR_TYPES and gradient._dtype is output._dtype
            and output._array is not None and gradient._array is not None
            and output._array.shape == gradient._array.shape):
        return gradient
    shape, dtype, _ = _facts(output)
    if gradient.__class__ not in TENSOR_TYPES:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient.shape != shape:
        raise about(RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] "
                                 f"has a shape of {shape}."), "gradient shape", given=gradient.shape, wanted=shape)
    if gradient._dtype.is_complex != dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. "
                           f"Mismatch in dtype: grad_output[{i}] has a dtype of {gradient.dtype} and output[{i}] has a "
                           f"dtype of {dtype}.")
    return gradient
