"""The command line `polyceptron`. Modules here import what is heavy inside their commands."""

from polyceptron.cli import _options
from polyceptron.cli._app import app


def main() -> None:
    """Run the command line."""
    _options.standalone = True
    app(prog_name="polyceptron")
