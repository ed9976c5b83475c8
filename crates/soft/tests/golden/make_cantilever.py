"""Tip of a cantilever at rest under its weight, by scikit-fem 12: writes cantilever.json beside it.

    pip install scikit-fem==12.0.2
    python make_cantilever.py

A bar of 0.4 x 0.05 x 0.05 m, clamped at x = 0, E 1e6 Pa, nu 0.3, 1000 kg/m^3, under gravity along -z. `bar16.msh` was
written by a script for this project: 16 x 2 x 2 cells of six tetrahedra each (Kuhn). Newton's method with the exact
tangent, to a step of 1e-13 m; the tip is the middle of the free end.
"""

import json
from pathlib import Path

import numpy as np
from skfem import (Basis, BilinearForm, ElementTetP1, ElementTetP2, ElementVector, LinearForm, MeshTet, asm, condense,
                   solve)

HERE = Path(__file__).parent
E, NU, RHO = 1e6, 0.3, 1000.0
MU = E / (2 * (1 + NU))
LA = E * NU / ((1 + NU) * (1 - 2 * NU))


def read_msh(path):
    lines = path.read_text().split("\n")
    at = lines.index("$Nodes")
    n = int(lines[at + 1])
    nodes = np.array([line.split()[1:] for line in lines[at + 2:at + 2 + n]], float)
    at = lines.index("$Elements")
    m = int(lines[at + 1])
    elements = [line.split() for line in lines[at + 2:at + 2 + m]]
    return MeshTet(nodes.T, np.array([e[-4:] for e in elements if e[1] == "4"], int).T - 1)


def kuhn(nx, ny, nz):
    """The same six tetrahedra a cell, finer."""
    x, y, z = np.linspace(0, 0.4, nx + 1), np.linspace(-0.025, 0.025, ny + 1), np.linspace(-0.025, 0.025, nz + 1)
    nodes = np.array(np.meshgrid(x, y, z, indexing="ij")).reshape(3, -1)
    number = np.arange(nodes.shape[1]).reshape(nx + 1, ny + 1, nz + 1)
    out = []
    for order in [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)]:
        corner = np.zeros((4, 3), int)
        for k, axis in enumerate(order):
            corner[k + 1] = corner[k]
            corner[k + 1, axis] += 1
        out.append(np.array([number[c[0]:c[0] + nx, c[1]:c[1] + ny, c[2]:c[2] + nz].ravel() for c in corner]))
    return MeshTet(nodes, np.hstack(out))


def moved(f):
    """To the last axes, for numpy's matrices, and back."""
    return np.moveaxis(f, (0, 1), (-2, -1))


def back(f):
    return np.moveaxis(f, (-2, -1), (0, 1))


def corotated(f):
    """Stress, and a function of dF that gives its derivative."""
    u, s, vt = np.linalg.svd(moved(f))
    sign = np.sign(np.linalg.det(u @ vt))
    u = u * np.stack([np.ones_like(sign), np.ones_like(sign), sign], -1)[..., None, :]
    s = s * np.stack([np.ones_like(sign), np.ones_like(sign), sign], -1)
    r = u @ vt
    spread = LA * (s.sum(-1) - 3)
    stress = 2 * MU * (moved(f) - r) + spread[..., None, None] * r

    def tangent(df):
        df = moved(df)
        a = np.swapaxes(u, -1, -2) @ df @ np.swapaxes(vt, -1, -2)
        turned = (a - np.swapaxes(a, -1, -2)) / (s[..., :, None] + s[..., None, :])
        dr = u @ turned @ vt
        along = LA * np.einsum("...ij,...ij", r, df)
        return back(2 * MU * (df - dr) + spread[..., None, None] * dr + along[..., None, None] * r)

    return back(stress), tangent


def cofactor(f):
    return np.array([np.cross(f[1], f[2], axis=0), np.cross(f[2], f[0], axis=0), np.cross(f[0], f[1], axis=0)])


def neo_hookean(f):
    c = cofactor(f)
    j = (f[0] * c[0]).sum(0)
    slope = (LA + MU) * (j - 1) - MU

    def tangent(df):
        # The cofactor is quadratic in F.
        dc = cofactor(f + df) - c - cofactor(df)
        return MU * df + (LA + MU) * (c * df).sum((0, 1)) * c + slope * dc

    return MU * f + slope * c, tangent


def tip(mesh, element, law, gravity):
    basis = Basis(mesh, ElementVector(element))
    clamped = basis.get_dofs(lambda x: x[0] < 1e-9).all()
    weight = asm(LinearForm(lambda v, w: -RHO * gravity * v[2]), basis)
    identity = np.eye(3)[:, :, None, None]
    q = np.zeros(basis.N)
    for _ in range(60):
        stress, tangent = law(identity + basis.interpolate(q).grad)
        inner = asm(LinearForm(lambda v, w: (stress * v.grad).sum((0, 1))), basis)
        stiffness = asm(BilinearForm(lambda u, v, w: (tangent(u.grad) * v.grad).sum((0, 1))), basis)
        step = solve(*condense(stiffness, weight - inner, D=clamped))
        size = np.abs(step).max()
        q += step * min(1, 0.02 / size)
        if size < 1e-13:
            break
    else:
        raise RuntimeError("no convergence")
    end = np.argmin(np.abs(mesh.p - np.array([[0.4], [0], [0]])).sum(0))
    return -q[basis.nodal_dofs[2, end]]


bar = read_msh(HERE / "bar16.msh")
fine = kuhn(32, 4, 4)
out = {}
for name, law in {"corotated": corotated, "neo_hookean": neo_hookean}.items():
    for load, gravity in {"": 9.81, "_tenth": 0.981}.items():
        out[f"{name}_linear{load}"] = tip(bar, ElementTetP1(), law, gravity)
        out[f"{name}_quadratic{load}"] = tip(bar, ElementTetP2(), law, gravity)
        out[f"{name}_fine{load}"] = tip(fine, ElementTetP2(), law, gravity)
        print(name, load, out)
(HERE / "cantilever.json").write_text(json.dumps(out, indent=1) + "\n")
