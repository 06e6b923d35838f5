"""Lesson 16: what does it take to write names?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson
from . import torch

#: First names that are common in several countries.
TEXT = """
aaron abigail ada adam adele adrian agnes aisha alan albert alexander alice alina alma amanda amelia amina amir amy
ana andrea andrew angela anita anna anne anton antonia aria ariel arthur astrid aurora ava barbara beatrice bella ben
benjamin bernard bertha bianca bjorn boris brenda brian bruno camila carl carla carlos carmen carol caroline catherine
cecilia celia charles charlotte chiara chloe chris christian christina clara claudia colin conrad cora cornelia dagmar
daisy dalia damian daniel daniela daria david dean deborah delia denis diana diego dina dominic donald donna dora
doris dorothy dylan edgar edith edward elena eli elias elisa elizabeth ella ellen elsa emil emilia emily emma eric
erica ernest esther ethan eugene eva evelyn fabian fatima felicia felix fiona flora florence frances francis frank
freda frederick gabriel gabriela george gerald gloria grace greta gustav hana hannah harold harriet harry hassan
heather hector heidi helen helena henry hilda holly hope hugo ian ida igor ines ingrid irene iris isaac isabel
isabella ivan ivy jack jacob james jan jane janet jasmine jason jean jennifer jenny jeremy jessica joan joanna joel
johanna john jonas jonathan jose joseph josephine joshua judith julia julian julie juliet june karen karin karl kate
katharina keith kelly kenneth kevin kim kira klara kurt lara larissa laura lauren lea leah leila lena leo leon leonard
leonora leslie liam lidia lily linda lisa livia logan lola lorenzo louis louisa lucas lucia lucy luis lukas luna lydia
madeleine magda magnus maja malik marcel marco marcus margaret maria marian marie marina mario marion mark marta
martha martin martina mary mathilda matthew maurice max maya melanie melissa michael michelle miguel mila milan milena
mira miriam mohammed mona monica morgan nadia nancy naomi natalie natasha nathan nelly nicholas nicole nils nina noah
noel nora norman olaf olga oliver olivia omar oscar otto pamela patricia patrick paul paula pauline pedro penelope
peter petra philip phoebe quentin rachel ralph ramon raphael rebecca regina renata rhea richard rita robert roberta
robin roger roland roman ron rosa rosalie rose roy ruben rudolf ruth ryan sabina sabrina salma samir samuel sandra
sara sarah sasha sean sebastian selina selma serena sergio sibyl sidney silas silvia simon simone sofia sonia sophie
stefan stella stephen steven susan susanna sven sylvia tamara tania tara teresa thea theodor theresa thomas timothy
tina tobias tom tristan ulrich ursula valentin valeria vanessa vera verena veronica victor victoria vincent viola
violet virginia vivian walter wanda wendy werner wilhelm william xavier yara yasmin yusuf yvonne zara zoe
"""


NAMES = tuple(TEXT.split())


def _run(function, names, heads, positions, length):
    """Return the result, and the gradients with respect to the three arguments."""
    source = torch.Generator().manual_seed(7)
    given = [torch.randn(names, heads, positions, length, generator=source) for _ in range(3)]
    given[0] = given[0] * 2
    for tensor in given:
        tensor.requires_grad_()
    found = function(*given)
    if not isinstance(found, torch.Tensor):
        return {"the result": found}
    seen = {"the result": found.detach()}
    if found.requires_grad:
        found.square().sum().backward()
    return seen | {f"the gradient of {name}": tensor.grad for name, tensor in zip("qkv", given, strict=True)}


LESSON = lesson(
    "names", attention=partial(
        Lab, cases=((1, 1, 1, 2), (1, 1, 3, 2), (2, 1, 3, 4), (2, 2, 3, 2)),
        run=_run,
        refuses=("scaled_dot_product_attention", "_scaled_dot_product_attention_math",
                              "_scaled_dot_product_flash_attention_for_cpu"),
        describe=lambda names, heads, positions, length:
            f"attention(q, k, v) of shape {(names, heads, positions, length)}"))
