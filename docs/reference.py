"""The reference: a page for each namespace and family, made from schemas, rows, docstrings, and calls that are run."""
from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import mindtorch as torch
from mindtorch import introspect
from mindtorch._backends.npu.ops import ACLNN_CALLS
from mindtorch._dispatch.registry import inplace_name
from mindtorch.introspect.formulas import formula_text

from . import examples
from .pages import Page

REPOSITORY = Path(__file__).parents[1]
#: Namespaces with a page of their own, below PyTorch's name: what each holds.
NAMESPACES = {
    "nn": "Modules, parameters and losses", "nn.functional": "Functions of neural networks",
    "nn.init": "Initial weights", "nn.utils": "Helpers for parameters and sequences",
    "optim": "Optimizers", "optim.lr_scheduler": "Schedules of learning rates",
    "autograd": "Differentiation", "func": "Derivatives of functions",
    "linalg": "Linear algebra", "fft": "Fourier transforms", "special": "Special functions",
    "signal.windows": "Windows", "masked": "Tensors with masks", "distributions": "Probability distributions",
    "sparse": "Sparse tensors", "utils.data": "Datasets and loaders", "random": "Random numbers",
    "amp": "Mixed precision",
    "compiler": "The compiler", "export": "Programs ahead of time", "fx": "Programs as graphs",
    "distributed": "Processes that compute together", "library": "Operators of your own", "profiler": "Profiles",
    "testing": "Comparisons", "npu": "Ascend NPUs",
}
#: Our own: what PyTorch does not have.
OWN = {"introspect": "Facts, as dataclasses", "viz": "Pictures: HTML, SVG and text", "widgets": "Pictures that move",
       "course": "The course's functions"}
SECTIONS = ("Args", "Raises", "Returns", "Yields", "Attributes", "Example", "Examples", "Note")


def pages() -> dict[str, Page]:
    """Return the reference's pages by their paths."""
    found = {f"api/torch/{family}.md": page(f"torch: {family_title(family)}", partial(in_torch, names))
             for family, names in families().items()}
    others = [name for name in torch.__all__ if name != "Tensor" and packet_of(getattr(torch, name)) is None]
    found["api/torch/others.md"] = page("torch: factories, settings, files, types", partial(in_torch, others))
    found["api/tensor.md"] = page("torch.Tensor", methods)
    for name, title in {**NAMESPACES, **OWN}.items():
        full = f"mindtorch.{name}" if name in OWN else f"torch.{name}"
        found[f"api/{name}.md"] = page(f"{full}: {title[0].lower()}{title[1:]}", partial(in_namespace, name, full))
    found["api/index.md"] = Page("Reference", lambda: index(found))
    return found


def page(title: str, entries: Callable[[], dict[str, Any]]) -> Page:
    """Return a page: its title, and an entry for each value."""
    def text() -> str:
        parts = (f"# {title}", *(entry(name, value) for name, value in entries().items()))
        return "\n\n".join(part for part in parts if part) + "\n"

    return Page(title, text)


def index(paths: Iterable[str]) -> str:
    """Return the reference's first page: all others, in groups."""
    def toc(names: Iterable[str]) -> str:
        return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```"

    families = [path.removeprefix("api/").removesuffix(".md") for path in paths if path.startswith("api/torch/")]
    introduction = (REPOSITORY / "docs" / "text" / "api.txt").read_text(encoding="utf-8")
    return "\n\n".join([introduction.strip(), "## torch", toc(["tensor", *families]), "## Namespaces of PyTorch",
                        toc(NAMESPACES), "## Pictures and course", toc(OWN)]) + "\n"


# -- what there is -----------------------------------------------------------------------------------------------------


def packet_of(value: Any) -> str | None:
    """Return the operator of a function that is made of schemas; None for other objects."""
    packet = getattr(value, "packet", None) if inspect.isfunction(value) else None
    return packet if isinstance(packet, str) and packet in torch.registry.packets else None


def families() -> dict[str, list[str]]:
    """Return the functions of ``torch`` that are operators, by family."""
    found: dict[str, list[str]] = {}
    for name in sorted(torch.__all__):
        packet = packet_of(getattr(torch, name))
        if packet is not None and not name.startswith("_"):
            found.setdefault(torch.registry.packets[packet][0].family or "others", []).append(name)
    others = found.pop("others", [])
    return {**dict(sorted(found.items())), **({"more": others} if others else {})}


def family_title(family: str) -> str:
    """Return what a family holds: the first line of its module."""
    path = REPOSITORY / "mindtorch" / "_operators" / f"{family}.py"
    if not path.exists():
        return family
    line = inspect.cleandoc(path.read_text(encoding="utf-8").split('"""')[1]).splitlines()[0]
    line = re.split(r"[:.;] ", line)[0]
    return line[0].lower() + line[1:].rstrip(".")


def in_torch(names: Iterable[str]) -> dict[str, Any]:
    return {f"torch.{name}": getattr(torch, name) for name in names}


def methods() -> dict[str, Any]:
    """Return the methods of tensors that are no functions of ``torch``."""
    found = {}
    for name in sorted(dir(torch.Tensor)):
        base = name.rstrip("_")
        if not name.startswith("_") and not hasattr(torch, base) and not (name != base and hasattr(torch.Tensor, base)):
            found[f"torch.Tensor.{name}"] = inspect.getattr_static(torch.Tensor, name)
    return found


def in_namespace(name: str, full: str) -> dict[str, Any]:
    """Return the public functions and classes of a namespace."""
    module = importlib.import_module(f"mindtorch.{name}")
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return {f"{full}.{name}": getattr(module, name) for name in sorted(names) if callable(getattr(module, name, None))}


# -- one entry ---------------------------------------------------------------------------------------------------------


def entry(name: str, value: Any) -> str:
    """Return an entry as a directive of Sphinx: signature, meaning, fields, example."""
    if packet_of(value) is not None:
        return operator_entry(name, value)
    if isinstance(value, property):
        return directive("py:property", name, [documented(inspect.getdoc(value) or "")])
    if inspect.isclass(value):
        return class_entry(name, value)
    if callable(value):
        return directive("py:function", f"{name}{signature_of(value)}",
                         [documented(inspect.getdoc(value) or ""), session(examples.written(name))])
    return ""


def operator_entry(name: str, function: Callable[..., Any]) -> str:
    """Return the entry of a function or method made of schemas."""
    facts = introspect.operator_facts(function)
    assert facts is not None
    packet = packet_of(function)
    assert packet is not None
    ops = [op for op in torch.registry.packets[packet] if not op.is_out]
    is_method = name.startswith("torch.Tensor.")
    fields = {
        "Shapes": facts.shapes, "Dtypes": facts.dtypes, "Raises": listed(facts.errors),
        "Gradient": "; ".join(f"of `{where}`: `{formula}`" for where, formula in gradients(ops)),
        "Also": "; ".join(forms(name, packet, ops)),
        "Schemas": listed([f"`{text}`" for text in facts.schemas]),
        "Source": ", ".join(dict.fromkeys(f"`{relative(w.path)}:{w.line}`" for w in facts.written)),
    }
    found = examples.example(name, packet, is_method)
    signature = facts.signature.partition("(")[2]
    return directive("py:method" if is_method else "py:function", f"{name}({signature}",
                     [facts.sentence, session(found), field_list(fields)])


def gradients(ops: list[Any]) -> list[tuple[str, str]]:
    """Return the derivative of an operator with respect to each input, as formulas."""
    for op in ops:
        row = torch.registry.derivatives.get((op.functional or op).name)
        written = getattr(row, "formulas", None)
        if written:
            return [(where, formula_text(formula)) for where, formula in written.items()]
    return []


def forms(name: str, packet: str, ops: list[Any]) -> Iterator[str]:
    """Yield the other forms of an operator, and the devices that compute it."""
    flags = frozenset().union(*(op.flags for op in ops))
    short = name.rpartition(".")[2]
    if "method" in flags and not name.startswith("torch.Tensor.") and hasattr(torch.Tensor, short):
        yield f"the method `Tensor.{short}`"
    if "in-place" in flags:
        yield f"in place, `{inplace_name(packet)}`"
    if "out" in flags:
        yield "with `out=`"
    called = next((ACLNN_CALLS[op.name] for op in ops if op.name in ACLNN_CALLS), None)
    if called is not None:
        yield "on an Ascend NPU by ACLNN"


def class_entry(name: str, cls: type) -> str:
    """Return the entry of a class: its constructor, and the methods that it adds and documents."""
    inner = []
    for member, value in sorted(vars(cls).items()):
        if member.startswith("_") or member == "forward":
            continue
        doc = inspect.getdoc(value) if isinstance(value, property) or inspect.isroutine(value) else None
        if doc:
            head = member if isinstance(value, property) else f"{member}{signature_of(value, without_self=True)}"
            inner.append(directive("py:property" if isinstance(value, property) else "py:method", head,
                                   [documented(doc)]))
    doc = (cls.__doc__ or "") if cls.__doc__ else ""
    return directive("py:class", f"{name}{signature_of(cls)}",
                     [documented(inspect.cleandoc(doc)), session(examples.of_class(name, cls)), *inner], "`" * 4)


def directive(kind: str, head: str, parts: list[str], fence: str = "```") -> str:
    body = "\n\n".join(part for part in parts if part)
    while fence in body:
        fence += "`"
    return f"{fence}{{{kind}}} {head}\n\n{body}\n{fence}"


def signature_of(value: Any, without_self: bool = False) -> str:
    """Return the signature of a callable, as Python writes it; '' if it has none."""
    try:
        found = inspect.signature(getattr(value, "__func__", value))
    except (TypeError, ValueError):
        return ""
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    if without_self and parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    text = f"({', '.join(map(str, parameters))})"
    if any(p.kind is p.KEYWORD_ONLY for p in parameters) or any(p.kind is p.POSITIONAL_ONLY for p in parameters):
        with suppress(ValueError):  # it has the stars and slashes
            text = str(inspect.Signature(parameters))
    return re.sub(r"<[^<>]*>", "...", text)


def relative(path: str) -> str:
    return str(Path(path).relative_to(REPOSITORY)) if path.startswith(str(REPOSITORY)) else Path(path).name


# -- Markdown ----------------------------------------------------------------------------------------------------------


def session(text: str) -> str:
    return f"```pycon\n{text}\n```" if text else ""


def listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else "".join(f"\n  - {item}" for item in items)


def field_list(fields: dict[str, str]) -> str:
    return "\n".join(f":{name}: {text}" for name, text in fields.items() if text)


def documented(doc: str) -> str:
    """Return a docstring as Markdown: its sections become fields."""
    head, *rest = re.split(rf"^({'|'.join(SECTIONS)}):\n", doc, flags=re.M)
    fields = {}
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        text, _, after = re.sub(r"^(?! )", "\0", body, flags=re.M).partition("\n\0")
        items = re.split(r"\n(?! )", textwrap.dedent(text.replace("\0", "")).strip("\n"))
        fields[name] = listed([re.sub(r"\s+", " ", item).strip() for item in items if item.strip()])
        head += "\n" + after.replace("\0", "")
    return f"{escaped(head.strip())}\n\n{field_list(fields)}".strip()


def escaped(text: str) -> str:
    """Keep what Markdown would take for markup outside of code."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.S)
    return "".join(part if number % 2 else re.sub(r"([*<_\[\]])", r"\\\1", part) for number, part in enumerate(parts))
