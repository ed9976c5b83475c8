//! What must hold of a soft body.

use std::collections::HashMap;

use super::values::{Check, check_contacting, finite, index_of, non_negative, positive};
use crate::{ModelBuilder, SoftBody, Vec3};

/// Volumes at rest below this share of the cube of an element's longest edge are as good as none.
const FLAT: f64 = 1e-9;

impl ModelBuilder {
    pub(super) fn check_soft_body(&self, soft: &SoftBody) -> Check {
        index_of("body", soft.body, self.bodies.len())?;
        check_material(soft)?;
        if let Some((node, x)) = soft.nodes.iter().enumerate().find(|(_, x)| !x.iter().all(|c| c.is_finite())) {
            return Err(format!("node {node} must be finite, found ({}, {}, {})", x.x, x.y, x.z));
        }
        check_elements(soft)?;
        check_pins(soft)?;
        check_regions(soft)?;
        check_contacting(&soft.contacting)?;
        non_negative("radius", soft.radius)
    }
}

fn check_material(soft: &SoftBody) -> Check {
    let material = &soft.material;
    positive("Young's modulus", material.young)?;
    if !(0.0..0.5).contains(&material.poisson) {
        return Err(format!("Poisson's ratio must be from 0 to below 0.5, found {}", material.poisson));
    }
    positive("density", material.density)?;
    non_negative("damping", material.damping)?;
    non_negative("mass damping", material.mass_damping)
}

fn check_elements(soft: &SoftBody) -> Check {
    let (each, n) = (soft.order.nodes(), soft.nodes.len());
    if soft.elements.is_empty() || !soft.elements.len().is_multiple_of(each) {
        return Err(format!("its elements must have {each} nodes each, found {} in all", soft.elements.len()));
    }
    check_embedding(soft)?;
    let mut used = vec![false; n];
    let mut seen = HashMap::with_capacity(soft.n_element());
    for (element, nodes) in soft.elements.chunks_exact(each).enumerate() {
        if let Some(node) = nodes.iter().find(|&&node| node as usize >= n) {
            return Err(format!("element {element} refers to node {node}, there are {n}"));
        }
        let mut sorted = nodes.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("element {element} has node {} twice", pair[0]));
        }
        let mut corners: Vec<u32> = soft.order.corners().iter().map(|&k| nodes[k]).collect();
        let at: Vec<Vec3> = corners.iter().map(|&node| soft.nodes[node as usize]).collect();
        let edge = (0..at.len()).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| (at[i] - at[j]).norm());
        let least = FLAT * edge.fold(0.0, f64::max).powi(3);
        if let Some(volume) = soft.volumes(element).find(|&volume| volume.is_nan() || volume <= least) {
            return Err(format!("element {element} is flat or inside out (volume {volume:e} m^3)"));
        }
        corners.sort_unstable();
        if let Some(first) = seen.insert(corners, element) {
            return Err(format!("element {element} has the corners of element {first}"));
        }
        nodes.iter().for_each(|&node| used[node as usize] = true);
    }
    match used.iter().position(|used| !used) {
        Some(node) => Err(format!("node {node} is in no element")),
        None => Ok(()),
    }
}

fn check_embedding(soft: &SoftBody) -> Check {
    match (&soft.embedding, soft.order.degree()) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err("its elements are bricks, which want an embedding: a cage has one".into()),
        (Some(_), None) => Err("it has an embedding, which is for bricks, and its elements are tetrahedra".into()),
        (Some(own), Some(_)) => {
            let [theirs, here] =
                [[own.n_node(), own.weights().len()], [soft.nodes.len(), soft.n_element() * soft.order.points()]];
            if theirs == here { Ok(()) } else { Err("its embedding is that of another cage".into()) }
        }
    }
}

fn check_pins(soft: &SoftBody) -> Check {
    let n = soft.nodes.len();
    ascending("pinned nodes", &soft.pinned)?;
    if let Some(node) = soft.pinned.iter().find(|&&node| node as usize >= n) {
        return Err(format!("it pins node {node}, there are {n}"));
    }
    if soft.pinned.len() == n { Err("all its nodes are pinned".into()) } else { Ok(()) }
}

fn check_regions(soft: &SoftBody) -> Check {
    let n = soft.n_element();
    soft.regions.iter().enumerate().try_for_each(|(number, region)| {
        let what = format!("region {number} \"{}\"", region.name);
        ascending(&format!("elements of {what}"), &region.elements)?;
        if let Some(element) = region.elements.iter().find(|&&element| element as usize >= n) {
            return Err(format!("{what} refers to element {element}, there are {n}"));
        }
        finite(&format!("pressure of {what}"), &[region.pressure])
    })
}

fn ascending(what: &str, list: &[u32]) -> Check {
    match list.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("{what} must ascend, found {} before {}", pair[0], pair[1])),
        None => Ok(()),
    }
}
