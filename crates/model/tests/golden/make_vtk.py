"""Writes the grids in vtk/ by VTK's own writer, and what its reader finds in them, for tests/suite/tetrahedra.rs. Needs PyPI's vtk.

    python crates/model/tests/golden/make_vtk.py
"""

import json
import pathlib

import numpy as np
import vtk

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.9, 0.8, 0.7]]) * 0.1
# The second is inside out.
LINEAR = [[0, 1, 2, 3], [1, 3, 2, 4]]
EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
SIDE = [0, 2, 1]


def quadratic():
    """The same tetrahedra with middles of edges, which are a little bent."""
    points, middles, cells = [*CORNERS], {}, []
    for cell in LINEAR:
        own = list(cell)
        for i, j in EDGES:
            edge = tuple(sorted((cell[i], cell[j])))
            if edge not in middles:
                middles[edge] = len(points)
                points.append((CORNERS[edge[0]] + CORNERS[edge[1]]) / 2 * 1.01)
            own.append(middles[edge])
        cells.append(own)
    return np.array(points), cells


def grid(points, cells, kind):
    """A grid with a triangle before the tetrahedra, and data that a mesh does without."""
    out = vtk.vtkUnstructuredGrid()
    at = vtk.vtkPoints()
    at.SetDataTypeToDouble()
    for point in points:
        at.InsertNextPoint(point)
    # Puts METADATA behind the points.
    at.GetData().SetComponentName(0, "along")
    out.SetPoints(at)
    for cell, own in [(SIDE, vtk.VTK_TRIANGLE), *((cell, kind) for cell in cells)]:
        out.InsertNextCell(own, len(cell), cell)
    time = vtk.vtkDoubleArray()
    time.SetName("TIME")
    time.InsertNextValue(0.5)
    time.GetRange()
    time.SetComponentName(0, "s")
    steps = vtk.vtkIntArray()
    steps.SetName("CYCLE")
    steps.InsertNextValue(7)
    for array in (time, steps):
        out.GetFieldData().AddArray(array)
    heat = vtk.vtkFloatArray()
    heat.SetName("heat")
    for k in range(len(points)):
        heat.InsertNextValue(k)
    out.GetPointData().SetScalars(heat)
    return out


def found(path, kind):
    reader = vtk.vtkUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    read = reader.GetOutput()
    ids = lambda k: [read.GetCell(k).GetPointId(i) for i in range(read.GetCell(k).GetNumberOfPoints())]
    return {
        "points": [list(read.GetPoint(k)) for k in range(read.GetNumberOfPoints())],
        "cells": [ids(k) for k in range(read.GetNumberOfCells()) if read.GetCellType(k) == kind],
    }


here = pathlib.Path(__file__).resolve().parent / "vtk"
here.mkdir(exist_ok=True)
golden = {}
meshes = {"linear": (CORNERS, LINEAR, vtk.VTK_TETRA), "quadratic": (*quadratic(), vtk.VTK_QUADRATIC_TETRA)}
for name, (points, cells, kind) in meshes.items():
    for coding in ("text", "binary"):
        for version, number in (("42", vtk.vtkUnstructuredGridWriter.VTK_LEGACY_READER_VERSION_4_2),
                                ("51", vtk.vtkUnstructuredGridWriter.VTK_LEGACY_READER_VERSION_5_1)):
            path = here / f"{name}_{coding}_{version}.vtk"
            writer = vtk.vtkUnstructuredGridWriter()
            writer.SetFileName(str(path))
            writer.SetFileVersion(number)
            writer.SetFileTypeToASCII() if coding == "text" else writer.SetFileTypeToBinary()
            writer.SetInputData(grid(points, cells, kind))
            assert writer.Write() == 1
            golden[path.name] = found(path, kind)
(here / "golden.json").write_text(json.dumps(golden) + "\n")
