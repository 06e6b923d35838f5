"""The course: the reader predicts, builds parts of the library, and is checked at once.

A lesson is a notebook, and a module in ``lessons`` that holds what can be asked in it, one row a task: predictions with
the answer and its reason, labs with their cases, hints and usual mistakes. In the notebook

    course.predict("strides.t", (1, 4))       # commits an answer
    course.explain("strides.t")               # after the picture: the right answer, and why
    course.hint("strides.position")           # the next of a few hints
    course.check("strides.position", mine)    # runs ``mine`` on the lab's cases, each within a limit of time
    course.solution("strides.position")       # after passing, or with the teacher's key
    course.part("engine.engine")              # what the reader has written in an earlier lesson's notebook
    course.progress()                         # what was predicted and passed, kept in a file beside the notebook

``check`` compares ``mine`` with the lesson's own solution case by case. Where they differ it runs what others have got
wrong before: the mistake that gives the reader's values is the one that the hint names. What fails raises ``NotYet``,
which a notebook shows as one line, with a picture of the difference above it, and without a traceback of the library.

A part that works can be put into the running library, as long as a block lasts and in its thread alone:

    with course.replace("add.Tensor", "cpu", my_add), course.replace_engine(my_engine):
        (a + b).sum().backward()

``replace``, ``replace_engine``, ``replace_allocator`` and ``add_key`` refuse, with a sentence, what would leave the
library broken. Teachers make a release, slides and a guide, and grade submissions, with ``python -m mindtorch course``.
"""
from .desk import (
    check as check, explain as explain, hint as hint, predict as predict, progress as progress, solution as solution,
)
from .own import part as part
from .parts import (
    add_key as add_key, excluded as excluded, replace as replace, replace_allocator as replace_allocator,
    replace_engine as replace_engine,
)
from .said import NotYet as NotYet, Refused as Refused

__all__ = ["NotYet", "Refused", "add_key", "check", "excluded", "explain", "hint", "part", "predict", "progress",
           "replace", "replace_allocator", "replace_engine", "solution"]
