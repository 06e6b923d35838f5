"""Solutions of 'fx.trace', right and wrong."""
import inspect
import operator

import mindtorch as torch

BINARY = ("add", "sub", "mul", "truediv", "matmul", "gt")
TraceError = torch.fx.proxy.TraceError


def right_recursive(function):
    """Operators by hand, and nodes found by recursion."""
    graph = torch.fx.Graph()

    def nodes_of(value):
        if isinstance(value, Value):
            return value.node
        if isinstance(value, tuple | list):
            return type(value)(map(nodes_of, value))
        if isinstance(value, dict):
            return {key: nodes_of(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(nodes_of(value.start), nodes_of(value.stop), nodes_of(value.step))
        return value

    def record(kind, target, args, kwargs):
        return Value(graph.create_node(kind, target, nodes_of(tuple(args)), nodes_of(kwargs)))

    class Method:
        def __init__(self, owner, name):
            self.owner, self.name = owner, name

        def __call__(self, *args, **kwargs):
            return record("call_method", self.name, [self.owner, *args], kwargs)

    class Value:
        def __init__(self, node):
            self.node = node

        def __getattr__(self, name):
            return Method(self, name)

        def __torch_function__(function, types, args, kwargs=None):
            return record("call_function", function, args, kwargs or {})

        __torch_function__ = staticmethod(__torch_function__)
        __neg__ = lambda self: record("call_function", operator.neg, [self], {})  # noqa: E731
        __getitem__ = lambda self, at: record("call_function", operator.getitem, [self, at], {})  # noqa: E731

        def __bool__(self):
            raise TraceError("no value")

        def __iter__(self):
            raise TraceError("no length")

    def operators(name):
        def one_way(self, other):
            return record("call_function", getattr(operator, name), [self, other], {})

        def other_way(self, other):
            return record("call_function", getattr(operator, name), [other, self], {})

        return one_way, other_way

    for name in BINARY:
        one_way, other_way = operators(name)
        setattr(Value, "__" + name + "__", one_way)
        setattr(Value, "__r" + name + "__", other_way)
    code = function.__code__
    placeholders = [graph.placeholder(name) for name in code.co_varnames[:code.co_argcount]]
    graph.output(nodes_of(function(*map(Value, placeholders))))
    return graph


class Traced:
    """A proxy that knows its graph."""

    def __init__(self, graph, node):
        self.graph, self.node = graph, node

    def put(self, kind, target, *args, **kwargs):
        args, kwargs = torch.fx.node.map_aggregate((args, kwargs), bare)
        return Traced(self.graph, self.graph.create_node(kind, target, tuple(args), dict(kwargs)))

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.put("call_method", name, self, *args, **kwargs)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        first = next(leaf for leaf in flat(args) if isinstance(leaf, Traced))
        return first.put("call_function", function, *args, **kwargs or {})

    def __add__(self, other): return self.put("call_function", operator.add, self, other)
    def __radd__(self, other): return self.put("call_function", operator.add, other, self)
    def __sub__(self, other): return self.put("call_function", operator.sub, self, other)
    def __rsub__(self, other): return self.put("call_function", operator.sub, other, self)
    def __mul__(self, other): return self.put("call_function", operator.mul, self, other)
    def __rmul__(self, other): return self.put("call_function", operator.mul, other, self)
    def __truediv__(self, other): return self.put("call_function", operator.truediv, self, other)
    def __rtruediv__(self, other): return self.put("call_function", operator.truediv, other, self)
    def __matmul__(self, other): return self.put("call_function", operator.matmul, self, other)
    def __gt__(self, other): return self.put("call_function", operator.gt, self, other)
    def __neg__(self): return self.put("call_function", operator.neg, self)
    def __getitem__(self, index): return self.put("call_function", operator.getitem, self, index)

    def refuse(self, *_):
        raise TraceError("this depends on values")

    __bool__ = __iter__ = __len__ = refuse


def bare(leaf):
    return leaf.node if isinstance(leaf, Traced) else leaf


def flat(value):
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]


def right_by_a_class(function):
    graph = torch.fx.Graph()
    result = function(*[Traced(graph, graph.placeholder(name)) for name in inspect.signature(function).parameters])
    graph.output(torch.fx.node.map_aggregate(result, bare))
    return graph


def wrong_without_output(function):
    """The graph has no output"""
    graph = torch.fx.Graph()
    function(*[Traced(graph, graph.placeholder(name)) for name in inspect.signature(function).parameters])
    return graph


def wrong_by_the_library(function):
    """which already does what you are to write"""
    return torch.fx.symbolic_trace(function).graph


EDITED = right_recursive
EDITS = [
    ("2 - x is not x - 2", "[other, self], {})", "[self, other], {})"),
    ("-x calls __neg__",
     '        __neg__ = lambda self: record("call_function", operator.neg, [self], {})', "        pass"),
    ("the trace follows one branch", 'raise TraceError("no value")', "return True"),
    ("without end: refuse it in __iter__",
     '        def __iter__(self):\n            raise TraceError("no length")\n', ""),
    ("The first argument of a method's node", "[self.owner, *args], kwargs", "[*args], kwargs"),
    ("Keyword arguments of methods", "[self.owner, *args], kwargs)", "[self.owner, *args], {})"),
    ("gets them as kwargs, a dictionary or None", "record(\"call_function\", function, args, kwargs or {})",
     "record(\"call_function\", function, args, {})"),
    ("replace them at any depth", "if isinstance(value, tuple | list):", "if isinstance(value, tuple):"),
    ("Every parameter of the function has a placeholder", "code.co_varnames[:code.co_argcount]",
     "code.co_varnames[:1]"),
    ("The output is a node too", "graph.output(nodes_of(function(*map(Value, placeholders))))",
     "graph.output(function(*map(Value, placeholders)).node)"),
    ("Operators are recorded as functions",
     'return record("call_function", getattr(operator, name), [self, other], {})',
     'return record("call_method", name, [self, other], {})'),
    ("Return the graph", "return graph", "return list(graph.nodes)"),
]
