"""PolyhedralSVM: linear machines trained jointly as faces of a polyhedron (Dundar et al. 2008)."""
