"""Small helpers that know nothing of polyhedra."""
