"""Mistakes that readers of lesson 17 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import edited

changed = partial(edited, "fx.trace")
CALL = "Proxy(graph.call_function(target, bare(args), bare(kwargs)))"
METHOD = "Proxy(graph.call_method(name, bare((self, *args)), bare(kwargs)))"

MISTAKES = (
    changed("The graph has no output: record the function's result by graph.output.",
            ("    graph.output(bare(function(*inputs)))\n", "    function(*inputs)\n")),
    changed("A graph holds nodes, not proxies: replace each proxy in arguments and results by its node.",
            ("leaf.node if isinstance(leaf, Proxy) else leaf", "leaf")),
    changed("The output is a node too: record the result with nodes in place of proxies, also in tuples and lists.",
            ("graph.output(bare(function(*inputs)))", "graph.output(function(*inputs))")),
    changed("The output is a node too: record the result with nodes in place of proxies, also in tuples and lists.",
            ("graph.output(bare(function(*inputs)))", "graph.output(function(*inputs).node)")),
    changed("Every parameter of the function has a placeholder, whether it is used or not.",
            ("inspect.signature(function).parameters]", "list(inspect.signature(function).parameters)[:1]]")),
    changed("The first argument of a method's node is the proxy's own node.", ("(self, *args)", "args")),
    changed("Keyword arguments of methods are part of the call: pass them on.",
            (METHOD, "Proxy(graph.call_method(name, bare((self, *args))))")),
    changed("Keyword arguments of functions are part of the call: __torch_function__ gets them as kwargs, a "
            "dictionary or None.",
            (CALL, "Proxy(graph.call_function(target, bare(args)))")),
    changed("Proxies can be inside lists, as in torch.cat([x, y]): replace them at any depth.",
            ("return torch.fx.node.map_aggregate(value, lambda leaf: leaf.node if isinstance(leaf, Proxy) else leaf)",
             "return (type(value)(getattr(leaf, 'node', leaf) for leaf in value) if isinstance(value, tuple) else "
             "{name: getattr(leaf, 'node', leaf) for name, leaf in value.items()} if isinstance(value, dict) else "
             "value.node)")),
    changed("2 - x is not x - 2: __rsub__(self, other) records operator.sub(other, self).",
            ("target=target: call(target, other, self)", "target=target: call(target, self, other)")),
    changed("A number may come first, as in 2 - x: Python then calls __rsub__ of the proxy.",
            ("        setattr(Proxy, f\"__r{name}__\", lambda self, other, target=target: call(target, other, self))\n",
             "")),
    changed("Each operator records its own function. A lambda in a loop sees the loop's last value: bind it by a "
            "default, target=target.",
            ("lambda self, other, target=target: call(target, self, other)",
             "lambda self, other: call(target, self, other)")),
    changed("-x calls __neg__: record operator.neg.",
            ("        def __neg__(self):\n            return call(operator.neg, self)\n\n", "")),
    changed("x[...] calls __getitem__: record operator.getitem.",
            ("return call(operator.getitem, self, index)", "return call(torch.select, self, 0, index)")),
    changed("A method is recorded by its name, as call_method, not as a function of torch.",
            (METHOD, "Proxy(graph.call_function(getattr(torch, name), bare((self, *args)), bare(kwargs)))")),
    changed("A function of torch is recorded as call_function, not as a method.",
            ("return call(target, *args, **(kwargs or {}))",
             "return Proxy(graph.call_method(target.__name__, bare(args), bare(kwargs or {})))")),
    changed("Operators are recorded as functions, such as operator.add, not as methods.",
            ("lambda self, other, target=target: call(target, self, other)",
             "lambda self, other, name=name: Proxy(graph.call_method(name, bare((self, other))))")),
    changed("An object without __bool__ counts as true, and the trace follows one branch without a word: refuse it.",
            ("raise torch.fx.proxy.TraceError(\"a branch depends on the value of a tensor\")", "return True")),
    changed("An object with __getitem__ is iterated as x[0], x[1] and so on, without end: refuse it in __iter__.",
            ("        def __iter__(self):\n            raise torch.fx.proxy.TraceError(\"a loop depends on the size of "
             "a tensor\")\n", "")),
    changed("Return the graph.", ("    return graph\n", "    return [node.name for node in graph.nodes]\n")),
    changed("Return the graph; symbolic_trace makes the module.",
            ("    return graph\n", "    return torch.fx.GraphModule(torch.nn.Module(), graph)\n")),
)

MISTAKES_OF = {"trace": MISTAKES}
HIDDEN = {"trace": (
    ("lambda x, y: torch.stack([x / 2, 1 / y], dim=0).amax(dim=(0, 1))",),
    ("lambda x, y: {'a': -(x @ y.t()), 'b': (x[0], 3)}",))}
