"""``python -m polyceptron`` is the command line."""

from polyceptron.cli import main

if __name__ == "__main__":
    main()
