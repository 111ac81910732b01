"""SPLA1 and SPLA2: polyhedra by logistic likelihood (Manwani & Sastry 2010)."""
