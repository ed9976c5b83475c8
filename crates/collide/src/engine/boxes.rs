//! Two boxes: separating axes (S. Gottschalk, M. Lin, D. Manocha, OBBTree, 1996), then the overlap of the features that
//! face each other.

use super::convex::{self, Workspace};
use super::core_shape::Core;
use super::facing::facing;
use super::placed::Placed;
use super::{Sink, Vector};

/// An edge axis must part the boxes by this much more (relative to their size) than the best face axis does: faces
/// give broader manifolds, and parallel edges give axes that are faces' own.
const EDGE_ADVANTAGE: f64 = 1e-3;

/// The best axis so far: how far the boxes are apart along it.
struct Best {
    separation: f64,
    normal: Vector,
}

pub(super) fn box_box(a: &Placed, b: &Placed, workspace: &mut Workspace, sink: &mut Sink<'_>) {
    let between = b.centre - a.centre;
    let (half_a, half_b) = (Vector::from_array(a.size), Vector::from_array(b.size));
    // Column j: axis j of B in A's axes.
    let axes = [a.local(b.axes.x_axis), a.local(b.axes.y_axis), a.local(b.axes.z_axis)];
    let sizes = axes.map(|c| c.abs());
    let (in_a, in_b) = (a.local(between), b.local(between));
    let mut best = Best { separation: f64::NEG_INFINITY, normal: Vector::ZERO };

    // Faces of A, then of B.
    let spread = sizes[0] * half_b.x + sizes[1] * half_b.y + sizes[2] * half_b.z;
    let apart_a = in_a.abs() - half_a - spread;
    let shadow = Vector::new(sizes[0].dot(half_a), sizes[1].dot(half_a), sizes[2].dot(half_a));
    let apart_b = in_b.abs() - half_b - shadow;
    if apart_a.max_element().max(apart_b.max_element()) >= sink.reach {
        return;
    }
    let columns = |p: &Placed| [p.axes.x_axis, p.axes.y_axis, p.axes.z_axis];
    for (apart, along, columns) in [(apart_a, in_a, columns(a)), (apart_b, in_b, columns(b))] {
        for i in 0..3 {
            // B's faces must do better: which of two equal faces wins must not depend on rounding.
            if apart[i] > best.separation + EDGE_ADVANTAGE * EDGE_ADVANTAGE * half_a.length() {
                best = Best { separation: apart[i], normal: if along[i] < 0.0 { -columns[i] } else { columns[i] } };
            }
        }
    }

    // Pairs of edges.
    let bias = EDGE_ADVANTAGE * half_a.min_element().min(half_b.min_element());
    let mut edge: Option<Best> = None;
    for (j, axis) in axes.iter().enumerate() {
        for i in 0..3 {
            let (k, l) = ((i + 1) % 3, (i + 2) % 3);
            let (m, n) = ((j + 1) % 3, (j + 2) % 3);
            // e_i x axis, in A's axes.
            let squared = axis[k] * axis[k] + axis[l] * axis[l];
            if squared < 1e-6 {
                continue;
            }
            let reach_a = half_a[k] * sizes[j][l] + half_a[l] * sizes[j][k];
            let reach_b = half_b[m] * sizes[n][i] + half_b[n] * sizes[m][i];
            let along = in_a[l] * axis[k] - in_a[k] * axis[l];
            let length = squared.sqrt();
            let apart = (along.abs() - reach_a - reach_b) / length;
            if apart >= sink.reach {
                return;
            }
            if apart > best.separation + bias && edge.as_ref().is_none_or(|e| apart > e.separation) {
                let sign = if along < 0.0 { -1.0 } else { 1.0 } / length;
                let mut normal = Vector::ZERO;
                (normal[k], normal[l]) = (-axis[l] * sign, axis[k] * sign);
                edge = Some(Best { separation: apart, normal: a.axes * normal });
            }
        }
    }
    let best = edge.unwrap_or(best);

    let (core_a, core_b) = (Core::Box(half_a), Core::Box(half_b));
    let points = &mut workspace.points;
    points.clear();
    let (feature_a, feature_b) = facing(&core_a, a, &core_b, b, best.normal);
    points.overlap(&feature_a, &feature_b, best.normal, [0.0; 2], sink.reach);
    // Boxes apart may be nearest at corners, whose direction is none of the axes.
    let size = half_a.length().min(half_b.length());
    if points.closest() > best.separation + 1e-5 * size {
        convex::convex_convex(core_a, a, [0.0; 2], core_b, b, None, workspace, sink);
        return;
    }
    points.emit(best.normal, a.centre, size, sink);
}
