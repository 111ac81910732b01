"""`polyceptron edit`: a model with faces that were changed by hand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyceptron.cli import _options
from polyceptron.cli._lazy import np
from polyceptron.cli._learning import show_faces
from polyceptron.cli._model import Loaded
from polyceptron.cli._out import check_free, write
from polyceptron.cli._terminal import note

if TYPE_CHECKING:
    from polyceptron.data.encoding import Encoding
    from polyceptron.data.guesses import FileOptions
    from polyceptron.rule.editing import Editing

_CHANGES = ("unlock", "set", "move", "round", "lock", "drop")
_FORMS = {"set": "FACE: INEQUALITY", "move": "FACE: to (or by) NUMBER", "round": "FACE: DIGITS"}
_OF_TRAINING = ("accuracy", "digits")
"""What a summary says of the rule as it was learned."""


def _change(name: str, metavar: str, about: str) -> Any:
    return click.option(f"--{name}", metavar=metavar, multiple=True, help=about)


@click.command(short_help="Change inequalities of a model by hand.")
@_options.model_argument
@_change("set", "FACE:TEXT", "Another inequality, such as '2: 2*age - bmi >= 14'.")
@_change("move", "FACE:HOW", "Another number on the right side: '2: to 15', or '2: by -1.5'.")
@_change("round", "FACE:N", "So many significant digits: '2: 3'.")
@_change("drop", "FACE", "Leave a face out.")
@_change("lock", "FACE", "Refuse changes of a face from now on.")
@_change("unlock", "FACE", "Allow them again.")
@click.option("--why", default="", metavar="TEXT", help="The reason, which the model file keeps.")
@click.option(
    "--data",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Rows with classes, on which the change is shown.",
)
@_options.target_option
@_options.file_options
@click.option("--calibrate", is_flag=True, help="Find probabilities again from the rows of --data.")
@_options.out_option("The new model file")
def edit(
    model: str,
    why: str,
    data: str | None,
    target: str | None,
    file: FileOptions,
    calibrate: bool,
    output: str,
    force: bool,
    **changes: Sequence[str],
) -> None:
    """Change faces of a model, and write it to another file, which keeps what was done and when.

    FACE is a number as `show MODEL` has it; of several pieces 1/0 is face 0 of piece 1, and
    setosa/0 that of setosa, where pieces have no numbers. All numbers are those of MODEL: faces
    are unlocked, set, moved, rounded, locked and then dropped, in this order.

    Probabilities stay those of the scores before, unless --calibrate finds them again: best from
    other rows than were learned from. With -o - the model goes to standard output, and all else
    that is printed to standard error.
    """
    from polyceptron.model_file import decode, encode, read_model
    from polyceptron.rule.editing import Change

    if not calibrate and not any(changes.values()):
        raise click.UsageError("there is nothing to change: --set, --move, --round, --drop, ...")
    if calibrate and data is None:
        raise click.UsageError("--calibrate needs --data.")
    check_free(output, force, model, data)
    loaded = Loaded(model)
    step = _begin(loaded, data, target, file)
    for name in _CHANGES:
        step = _changed(step, name, changes[name], why, loaded.encoding)
    step = step.calibrate(why=why) if calibrate else step
    estimator, encoding, summary = read_model(Path(model))
    summary = {key: value for key, value in summary.items() if key not in _OF_TRAINING}
    content = encode(estimator, encoding, summary, step.rule)
    decode(content, output)
    with redirect_stdout(sys.stderr) if output == "-" else nullcontext():
        for title, rule in (("Before", loaded.rule), ("\nAfter", step.rule)):
            click.echo(title)
            show_faces(rule, encoding=loaded.encoding)
        for broken in getattr(estimator, "broken_promises", lambda _: [])(step.rule):
            note(f"the model was learned with what this breaks: {broken}")
        if step.rows is not None:
            click.echo(f"\n{Change.between(loaded.rule, step.rule, step.rows, step.places)}")
    write(output, content)
    if output != "-":
        click.echo(f"\nModel: {output}")


def _begin(loaded: Loaded, data: str | None, target: str | None, file: FileOptions) -> Editing:
    """The rule to be changed, with all rows of the file."""
    if data is None:
        return loaded.rule.edit()
    target, parts, places = loaded.label_column(target), [], []
    for batch, X in loaded.pieces(data, file, [target]):
        parts.append(X)
        places += loaded.classes_in(batch, target)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return loaded.rule.edit(vstack(parts), loaded.rule.classes[places])
    return loaded.rule.edit(np.concatenate(parts), loaded.rule.classes[places])


def _changed(
    step: Editing, name: str, texts: Sequence[str], why: str, encoding: Encoding | None
) -> Editing:
    """After all that one option asks for."""
    from polyceptron.inequalities import parse_inequality

    known = step.addresses
    if name == "drop":  # from the last, so that numbers of the others stay
        texts = sorted(set(texts), key=lambda face: known.get(face, (0, 0)), reverse=True)
    done: set[str] = set()
    for text in texts:
        face, how = text, {}
        if name in _FORMS:  # labels may have colons, too
            faces = (one for one in known if text.startswith(f"{one}:"))
            face = max(faces, key=len, default=text.partition(":")[0])
            how = _how(name, text, text[len(face) + 1 :].strip())
        if face in done:
            raise click.UsageError(f"--{name}: face {face} is named twice.")
        done.add(face)
        try:
            if name == "set" and face in known:
                how = {"new": parse_inequality(how["new"], step.rule.names, encoding)}
            step = getattr(step, {"set": "replace"}.get(name, name))(face, **how, why=why)
        except ValueError as error:
            raise click.ClickException(f"--{name}: {error}") from error
    return step


def _how(name: str, text: str, value: str) -> dict[str, Any]:
    """What follows the face, as arguments of `Editing`."""
    try:
        if name == "move":
            word, number = value.split()
            return {{"by": "by", "to": "to"}[word]: float(number)}
        return {"digits": int(value)} if name == "round" else {"new": value}
    except (ValueError, KeyError):
        form = f"{text!r} is not {_FORMS[name]}"
        raise click.BadParameter(form, param_hint=f"--{name}") from None
