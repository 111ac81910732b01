"""Polyhedra by mixed-integer programs: discrete SVMs, and whether K faces can separate rows."""
