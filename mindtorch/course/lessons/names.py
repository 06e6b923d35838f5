"""Lesson 16: what does it take to write names?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction
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

PREDICTIONS = (
    Prediction("start", "The loss is the mean of -log(p), where p is the probability that the model gives to the next "
                        "letter. A model that has learnt nothing gives about 1/27 to each of 27 signs. What is its "
                        "loss, rounded to one decimal?", 3.3,
               "log(27) is 3.3. The first loss of a classifier should be near the logarithm of its number of classes: "
               "if it is not, something is wrong before training has begun."),
    Prediction("seen", "How many positions may the third position of a name look at?", 3,
               "The first, the second, and itself. It has to guess the fourth."),
    Prediction("scores", "A batch has 64 names of 10 positions, and attention has 2 heads. What is the shape of the "
               "scores?", (64, 2, 10, 10),
               "One number for each name, each head, each position of a query and each position of a key. This square "
               "is why long texts are expensive."),
)


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


LESSON = Lesson(
    16, "names", "What does it take to write names?", "16_names", 37, PREDICTIONS,
    (Lab(
        "attention", "How does a position see the positions before it?", "attention",
        ((1, 1, 1, 2), (1, 1, 3, 2), (2, 1, 3, 4), (2, 2, 3, 2)),
        ("The scores are q times k, with the last two dimensions of k swapped, divided by the square root of the "
         "vectors' length.",
         "torch.ones(n, n, dtype=torch.bool).triu(1) is True where the column, a key, comes after the row, a query. "
         "masked_fill puts minus infinity there.",
         "scores.masked_fill(later, float('-inf')).softmax(-1) @ v"),
        5, run=_run, refuses=("scaled_dot_product_attention", "_scaled_dot_product_attention_math",
                              "_scaled_dot_product_flash_attention_for_cpu"),
        describe=lambda names, heads, positions, length:
            f"attention(q, k, v) of shape {(names, heads, positions, length)}"),
     ),
)
