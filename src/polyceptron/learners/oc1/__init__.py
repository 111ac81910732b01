"""OC1: oblique decision trees (Murthy, Kasif & Salzberg 1994)."""
