"""Solutions of 'engine.engine'. The hint has a wrong one's docstring, or the text in `WRONG`."""


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


def sending(roots, gradients, put, each=lambda edges: edges, target=lambda n: n, fit=True, run=None):
    box = {}
    for (node, number), gradient in zip(roots, gradients):
        box[node] = {number: gradient}
    for node in sorted_graph(roots):
        if node not in box:
            continue
        arrived = [box[node].get(i) for i in range(len(node._input_metadata))]
        found = results(node, arrived) if run is None else run(node, arrived)
        for (lower, number), gradient in each(list(zip(node.next_functions, found))):
            if lower is not None:
                place = box.setdefault(lower, {})
                if fit:
                    gradient = gradient.sum_to_size(lower._input_metadata[number].shape)
                put(place, target(number), gradient)


def add(place, number, gradient):
    place[number] = place[number] + gradient if number in place else gradient


def wrong_first_arrival(roots, gradients):
    """for the first, and drops the others"""
    seen, queue = set(), [(node, number, g) for (node, number), g in zip(roots, gradients)]
    while queue:
        node, number, gradient = queue.pop(0)
        if node in seen:
            continue
        seen.add(node)
        arrived = [None] * len(node._input_metadata)
        arrived[number] = gradient.sum_to_size(node._input_metadata[number].shape)
        queue += [(lower, n, g) for (lower, n), g in zip(node.next_functions, results(node, arrived))
                  if lower is not None]


def wrong_leaves_overwritten(roots, gradients):
    """Leaves add to .grad"""
    def run(node, arrived):
        if hasattr(node, "variable"):
            node.variable.grad = arrived[0]
            return ()
        return results(node, arrived)

    sending(roots, gradients, add, run=run)


def wrong_no_leaves(roots, gradients):
    """Call the nodes of leaves, too: they add the gradient to .grad."""
    def run(node, arrived):
        return () if hasattr(node, "variable") else results(node, arrived)

    sending(roots, gradients, add, run=run)


def wrong_none(roots, gradients):
    """An input that needs no gradient has the edge (None, 0): skip it."""
    def run(node, gradient):
        for (lower, _), g in zip(node.next_functions, results(node, [gradient])):
            run(lower, g)

    run(roots[0][0], gradients[0])


WRONG = [
    ("Here number is ignored", lambda roots, gradients: sending(roots, gradients, add, target=lambda number: 0)),
    ("A node may have several inputs: follow all of next_functions, not only the last.",
     lambda roots, gradients: sending(roots, gradients, add, each=lambda edges: edges[-1:])),
]
