"""The error of this package, apart so that all its modules can raise it."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file that cannot be used, and which part of it is wrong.

    Attributes
    ----------
    problem : str
        What is wrong.
    field : str
        Where in the document, such as ``learner.W[3][0]``; empty for the document as a whole.
    file : str
        The name of the file; empty for a document that is in no file.

    Examples
    --------
    >>> print(ModelFileError("must be true or false; got 1", "learner.converged", "model.json"))
    model.json: learner.converged must be true or false; got 1
    """

    def __init__(self, problem: str, field: str = "", file: str = "") -> None:
        super().__init__(problem, field, file)  # all of them, so that it can be pickled
        self.problem, self.field, self.file = problem, field, file

    def __str__(self) -> str:
        text = f"{self.field} {self.problem}" if self.field else self.problem
        return f"{self.file}: {text}" if self.file else text
