#!/usr/bin/env python3
"""Makes the meshes of the scenes with soft bodies (numpy and scipy):

    python3 scenes/meshes.py        # scenes/ball.msh
"""

from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

FOLDER = Path(__file__).parent


def spiral(count, radius, turn):
    """Points spread evenly over a sphere: a Fibonacci spiral."""
    i = np.arange(count) + 0.5
    z = 1 - 2 * i / count
    angle = np.pi * (1 + 5**0.5) * i + turn
    across = np.sqrt(1 - z * z)
    return radius * np.column_stack([across * np.cos(angle), across * np.sin(angle), z])


def write(name, points, tetrahedra):
    """As Gmsh's format 2.2."""
    with open(FOLDER / name, "w", encoding="ascii", newline="\n") as file:
        print("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes", len(points), sep="\n", file=file)
        for i, point in enumerate(points):
            print(i + 1, *(f"{x:.9g}" for x in point), file=file)
        print("$EndNodes\n$Elements", len(tetrahedra), sep="\n", file=file)
        for i, corners in enumerate(tetrahedra):
            print(i + 1, 4, 2, 0, 1, *(corners + 1), file=file)
        print("$EndElements", file=file)


def ball():
    """A ball of radius 1: 427 tetrahedra between its centre, a sphere of 0.6 and its surface."""
    points = np.vstack([np.zeros((1, 3)), spiral(33, 0.6, 4.0), spiral(90, 1.0, 0.0)])
    tetrahedra = Delaunay(points).simplices
    assert len(tetrahedra) == 427
    write("ball.msh", points, tetrahedra)


if __name__ == "__main__":
    ball()
