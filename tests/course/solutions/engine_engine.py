"""Solutions of 'engine.engine', right and wrong."""

from collections import Counter, defaultdict, deque

import mindtorch as torch


def order_of(roots):
    """The nodes below the roots, each after all that lead to it."""
    done, order = set(), []

    def visit(node):
        if node is None or node in done:
            return
        done.add(node)
        for below, _ in node.next_functions:
            visit(below)
        order.append(node)

    for node, _ in roots:
        visit(node)
    return order[::-1]


def walk(order, roots, gradients, start=None, join=lambda have, new: have + new, shaped=True):
    """Run nodes in an order, and send on what they return."""
    waiting = defaultdict(dict)

    def arrive(node, number, gradient):
        if shaped:
            gradient = gradient.sum_to_size(node._input_metadata[number].shape)
        have = waiting[node].get(number)
        waiting[node][number] = gradient if have is None else join(have, gradient)

    for (node, number), gradient in zip(roots, gradients):
        arrive(node, number, gradient)
    for node in order:
        arrived = waiting.pop(node, {})
        if not arrived:
            continue
        results = node(*(arrived.get(i) for i in range(len(node._input_metadata))))
        results = results if isinstance(results, tuple) else (results,)
        for (below, number), gradient in zip(node.next_functions, results):
            if below is not None and gradient is not None:
                arrive(below, number, gradient)


def right_by_sorting_first(roots, gradients):
    walk(order_of(roots), roots, gradients)


def right_with_a_queue_of_nodes_that_are_ready(roots, gradients):
    missing, seen, stack = Counter(), set(), [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for below, _ in node.next_functions:
            if below is not None:
                missing[below] += 1
                stack.append(below)
    buffers = {}

    def put(node, number, gradient):
        slots = buffers.setdefault(node, [None] * len(node._input_metadata))
        gradient = gradient.sum_to_size(node._input_metadata[number].shape)
        slots[number] = gradient if slots[number] is None else slots[number] + gradient

    for (node, number), gradient in zip(roots, gradients):
        put(node, number, gradient)
    ready = deque(dict.fromkeys(node for node, _ in roots if not missing[node]))
    while ready:
        node = ready.popleft()
        slots = buffers.pop(node, None)
        found = node(*slots) if slots is not None else (None,) * len(node.next_functions)
        if not isinstance(found, tuple):
            found = (found,)
        for (below, number), gradient in zip(node.next_functions, found):
            if below is None:
                continue
            if gradient is not None:
                put(below, number, gradient)
            missing[below] -= 1
            if not missing[below]:
                ready.append(below)


def wrong_each_path_by_itself(roots, gradients):
    """A node waits until all its gradients have arrived: this engine runs it for each of them"""
    def go(node, number, gradient):
        slots = [None] * len(node._input_metadata)
        slots[number] = gradient.sum_to_size(node._input_metadata[number].shape)
        found = node(*slots)
        for (below, n), g in zip(node.next_functions, found if isinstance(found, tuple) else (found,)):
            if below is not None and g is not None:
                go(below, n, g)

    for (node, number), gradient in zip(roots, gradients):
        go(node, number, gradient)


def wrong_order_of_discovery(roots, gradients):
    """A node is ready when a gradient has arrived on every edge that leads to it"""
    order, queue = [], deque(node for node, _ in roots)
    while queue:
        node = queue.popleft()
        if node not in order:
            order.append(node)
            queue.extend(below for below, _ in node.next_functions if below is not None)
    walk(order, roots, gradients)


def wrong_number_ignored(roots, gradients):
    """A node is called with one gradient for each output of its operator, None where none has arrived"""
    waiting = {}

    def arrive(node, gradient):
        gradient = gradient.sum_to_size(node._input_metadata[0].shape)
        waiting[node] = waiting[node] + gradient if node in waiting else gradient

    for (node, _), gradient in zip(roots, gradients):
        arrive(node, gradient)
    for node in order_of(roots):
        if node not in waiting:
            continue
        found = node(waiting.pop(node))
        for (below, _), g in zip(node.next_functions, found if isinstance(found, tuple) else (found,)):
            if below is not None and g is not None:
                arrive(below, g)


def wrong_first_input_only(roots, gradients):
    """A node may have several inputs: follow all of next_functions, not only the first."""
    [(node, number)], [gradient] = roots, gradients
    while node is not None:
        slots = [None] * len(node._input_metadata)
        slots[number] = gradient.sum_to_size(node._input_metadata[number].shape)
        found = node(*slots)
        if not node.next_functions:
            return
        gradient = found[0] if isinstance(found, tuple) else found
        node, number = node.next_functions[0]


def wrong_tuple_forgotten(roots, gradients):
    """The node of an operator with one input returns a tensor, not a tuple: do not iterate over its rows."""
    waiting = {}
    for (node, number), gradient in zip(roots, gradients):
        waiting[node] = [None] * len(node._input_metadata)
        waiting[node][number] = gradient
    for node in order_of(roots):
        for (below, number), g in zip(node.next_functions, node(*waiting[node])):
            if below is None:
                continue
            slots = waiting.setdefault(below, [None] * len(below._input_metadata))
            g = g.sum_to_size(below._input_metadata[number].shape)
            slots[number] = g if slots[number] is None else slots[number] + g


def wrong_none_edges_forgotten(roots, gradients):
    """An input that needs no gradient has the edge (None, 0): skip it."""
    def visit(node, done, order):
        if node in done:
            return
        done.add(node)
        for below, _ in node.next_functions:
            visit(below, done, order)
        order.append(node)

    order, done = [], set()
    for node, _ in roots:
        visit(node, done, order)
    walk(order[::-1], roots, gradients)


def wrong_roots_run_at_once(roots, gradients):
    """Start all roots together: a node that several of them lead to waits for all, and runs once."""
    for root, gradient in zip(roots, gradients):
        walk(order_of([root]), [root], [gradient])


def below(node):
    return [edge for edge in node.next_functions if edge[0] is not None]


def sorted_graph(roots):
    """The nodes, each before those below it, without recursion."""
    order, state, stack = [], {}, [node for node, _ in roots]
    while stack:
        node = stack[-1]
        if state.get(node) == "done":
            stack.pop()
        elif state.get(node) == "open":
            state[node] = "done"
            order.append(stack.pop())
        else:
            state[node] = "open"
            stack += [n for n, _ in below(node) if n not in state]
    return order[::-1]


def results(node, gradients):
    found = node(*gradients)
    return found if isinstance(found, tuple) else (found,)


def right_by_sorting(roots, gradients):
    sums = {}
    for edge, gradient in zip(roots, gradients):
        sums[edge] = sums[edge] + gradient if edge in sums else gradient
    for node in sorted_graph(roots):
        outputs = node._input_metadata
        arrived = [sums.get((node, i)) for i in range(len(outputs))]
        for edge, gradient in zip(node.next_functions, results(node, arrived)):
            if edge[0] is not None:
                gradient = gradient.sum_to_size(edge[0]._input_metadata[edge[1]].shape)
                sums[edge] = sums[edge] + gradient if edge in sums else gradient


def right_by_pulling(roots, gradients):
    """Each node asks those above it for what they have to send."""
    above, memory = {}, {}
    for node in sorted_graph(roots):
        for position, (lower, number) in enumerate(node.next_functions):
            if lower is not None:
                above.setdefault((lower, number), []).append((node, position))

    def gradient_of(node, number):
        shape = node._input_metadata[number].shape
        found = [g for edge, g in zip(roots, gradients) if edge == (node, number)]
        found += [output_of(n)[position].sum_to_size(shape) for n, position in above.get((node, number), ())]
        return sum(found[1:], found[0]) if found else None

    def output_of(node):
        if node not in memory:
            memory[node] = results(node, [gradient_of(node, i) for i in range(len(node._input_metadata))])
        return memory[node]

    for node in sorted_graph(roots):
        output_of(node)


WRONG = [
    ("Gradients that arrive at a node on several edges are added: this engine keeps only one of them.",
     lambda roots, gradients: walk(order_of(roots), roots, gradients, join=lambda have, new: new)),
    ("Gradients that arrive at a node on several edges are added: this engine keeps only one of them.",
     lambda roots, gradients: walk(order_of(roots), roots, gradients, join=lambda have, new: have)),
    ("Sum the gradient of a broadcast output to the shape in node._input_metadata[number]: see lesson 3.",
     lambda roots, gradients: walk(order_of(roots), roots, gradients, shaped=False)),
    ("There may be several roots: start from all of them.",
     lambda roots, gradients: walk(order_of(roots[:1]), roots[:1], gradients[:1])),
    ("Start with the gradients that are given, not with ones.",
     lambda roots, gradients: walk(order_of(roots), roots, [torch.ones_like(g) for g in gradients])),
    ("Gradients that arrive at a node on several edges are added, not averaged.",
     lambda roots, gradients: walk(order_of(roots), roots, gradients, join=lambda have, new: (have + new) / 2)),
    ("Another node may hold the gradient that arrived, or it may be expanded: use have + new, which is a new tensor, "
     "not add_, which writes.",
     lambda roots, gradients: walk(order_of(roots), roots, gradients, join=lambda have, new: have.add_(new))),
]
