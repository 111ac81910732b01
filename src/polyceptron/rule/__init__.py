"""What a learner answers: polyhedra, each with the class of its rows, and the class otherwise.

`_rule` has the value itself; `_answers` what it answers to rows, and `_tree` how the leaves of a
tree do; `_words` the text; `_models` the rules of learners, polyhedra and pipelines.
"""

from polyceptron.rule._answers import Decision
from polyceptron.rule._models import as_rule, is_bare, is_pipeline
from polyceptron.rule._rule import Piece, Rule
from polyceptron.rule._words import show_label, texts_of_faces

__all__ = [
    "Decision",
    "Piece",
    "Rule",
    "as_rule",
    "is_bare",
    "is_pipeline",
    "show_label",
    "texts_of_faces",
]
