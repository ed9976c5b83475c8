"""Tip of Cook's membrane by scikit-fem 12, in the plane: writes cook.json beside it.

    pip install scikit-fem==12.0.2
    python make_cook.py

Corners (0, 0), (48, 44), (48, 60), (0, 44), clamped at x = 0, in plane stress with E 1 and nu 1/3, under a load of 1 along y, spread
over the end x = 48 (R. D. Cook 1974; 23.96 is the value that is quoted). The tip is the middle of the end, (48, 52).
"""

import json
from pathlib import Path

import numpy as np
from skfem import Basis, ElementTriP2, ElementVector, FacetBasis, LinearForm, MeshTri, asm, condense, solve
from skfem.models.elasticity import linear_elasticity

NU = 1 / 3


def tip(cells):
    mesh = MeshTri.init_tensor(np.linspace(0, 1, cells + 1), np.linspace(0, 1, cells + 1))
    s, t = mesh.p
    mesh = MeshTri(np.array([48 * s, 44 * s + t * (44 - 28 * s)]), mesh.t)
    element = ElementVector(ElementTriP2())
    basis = Basis(mesh, element)
    # Plane stress is plane strain of this lambda.
    stiffness = asm(linear_elasticity(NU / (1 - NU**2), 1 / (2 * (1 + NU))), basis)
    end = FacetBasis(mesh, element, facets=mesh.facets_satisfying(lambda x: x[0] > 48 - 1e-9))
    load = asm(LinearForm(lambda v, w: v[1] / 16), end)
    q = solve(*condense(stiffness, load, D=basis.get_dofs(lambda x: x[0] < 1e-9)))
    middle = np.argmin(np.abs(mesh.p - np.array([[48], [52]])).sum(0))
    return q[basis.nodal_dofs[1, middle]]


tips = [tip(cells) for cells in (64, 128, 256)]
print(tips)
(Path(__file__).parent / "cook.json").write_text(json.dumps({"tip": tips[-1]}) + "\n")
