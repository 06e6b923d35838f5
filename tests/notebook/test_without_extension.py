"""Tensors, modules and pictures show themselves wherever objects are asked for HTML, without the extension."""
from __future__ import annotations

from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import mindtorch as torch
from mindtorch import introspect, nn, viz


class Own(nn.Linear):
    def _repr_html_(self) -> str:
        return "<b>mine</b>"


@pytest.mark.parametrize(("value", "said"), [
    (torch.arange(6).view(2, 3), "int64[2, 3]"), (nn.Parameter(torch.ones(2)), "leaf, requires grad"),
    (nn.Linear(2, 3), "9 parameters"), (Own(2, 3), "<b>mine</b>"),
])
def test_a_notebook_shows_a_picture_and_the_text_is_as_before(bare: InteractiveShell, value: Any, said: str) -> None:
    shown = bare.display_formatter.format(value)[0]
    assert said in shown["text/html"] and shown["text/plain"] == repr(value)
    assert value._repr_mimebundle_() == shown and value._repr_html_() == shown["text/html"]
    assert type(value._repr_html_()) is str, "marimo shows no other strings"


def test_pending_values_are_shown_before_the_text_waits_for_them(bare: InteractiveShell) -> None:
    with torch.pipeline():
        shown = (torch.ones(2) + 1)._repr_mimebundle_()
    assert "waits for 2 operators" in shown["text/html"] and shown["text/plain"] == "tensor([2., 2.])"


def test_names_are_those_of_the_program(bare: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    import __main__

    x = torch.ones(2)
    monkeypatch.setattr(__main__, "some_name", x, raising=False)
    assert "some_name" in x._repr_html_() and "other" in viz.picture(x, {"other": x})


def test_what_viz_returns_is_a_picture_and_still_a_string(bare: InteractiveShell) -> None:
    for picture in (viz.tensor_card(torch.ones(2)), viz.module_page(introspect.module_facts(nn.ReLU()))):
        assert isinstance(picture, str) and picture.startswith("<style>")
        shown = bare.display_formatter.format(picture)[0]
        assert shown["text/html"] == picture == picture._repr_html_()
        assert shown["text/plain"] == picture.plain.strip() and "<" not in shown["text/plain"]
        assert picture._mime_() == ("text/html", picture)  # which marimo asks first
