"""The command line `polyceptron`. Modules here import what is heavy inside their commands."""

from polyceptron.cli._app import app


def main() -> None:
    """Run the command line."""
    app(prog_name="polyceptron")
