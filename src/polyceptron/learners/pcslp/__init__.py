"""PC-SLP: polyhedra by successive linear programs (Astorino & Gaudioso 2002)."""
