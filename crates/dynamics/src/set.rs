//! Tree sets: the trees of a model that one dispatch can step side by side.

use manyworlds_model::{Actuator, Model, Transmission};

use crate::error::TreeError;
use crate::initial;
use crate::layout::TreeLayout;
use crate::params;
use crate::sensors;
use crate::settings::Settings;
use crate::soft;
use crate::view::TreeView;

/// Trees of equal topology; their parameters may differ.
#[derive(Debug, Clone)]
pub struct TreeSet {
    /// The trees, indices in the model; lane `world * trees.len() + i` is tree `trees[i]`.
    pub trees: Vec<usize>,
    /// What they share.
    pub layout: TreeLayout,
    /// One set of parameters a tree, `[trees][n_param]`.
    pub params: Vec<Vec<f64>>,
    /// Actuators of each tree, indices in the model, in the order of its controls, `[trees][n_u]`.
    pub actuators: Vec<Vec<usize>>,
    /// Activations of each tree, numbers among the model's, `[trees][n_act]`.
    pub activations: Vec<Vec<usize>>,
    /// Tendons of each tree, indices in the model, in the order of the tree's first paths.
    pub tendons: Vec<Vec<usize>>,
    /// Sensors of each tree, indices in the model, in the order of its readings.
    pub sensors: Vec<Vec<usize>>,
    /// Actuators of each tree that adhere, by their number among the tree's, `[trees]`.
    pub adhesion: Vec<Vec<u32>>,
    /// Equalities within each tree, indices in the model, in the order of its coupling rows and blocks.
    pub equalities: Vec<Vec<usize>>,
}

impl TreeSet {
    /// A soft body: a set of its own.
    fn soft(model: &Model, index: usize, number: usize, settings: &Settings) -> Self {
        let soft = &model.soft[number];
        let of = |(a, actuator): (usize, &Actuator)| match actuator.transmission {
            Transmission::Region { soft, region } if soft == number => Some((a, region)),
            _ => None,
        };
        let (actuators, regions): (Vec<_>, Vec<_>) = model.actuators.iter().enumerate().filter_map(of).unzip();
        let mut params = params::header(model, settings);
        params.extend(soft::params(soft, actuators.iter().map(|&a| &model.actuators[a])));
        Self {
            trees: vec![index],
            layout: soft::layout(soft, &regions, settings.integrator),
            params: vec![params],
            actuators: vec![actuators],
            activations: vec![Vec::new()],
            tendons: vec![Vec::new()],
            sensors: vec![Vec::new()],
            adhesion: vec![Vec::new()],
            equalities: vec![Vec::new()],
        }
    }

    /// Whether it is a soft body.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        self.layout.is_soft()
    }

    /// Whether one set of parameters serves every tree.
    #[must_use]
    pub fn uniform(&self) -> bool {
        self.params.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Groups a model's trees by topology, in the order of their first trees.
///
/// # Errors
/// [`TreeError::Joint`] for a free joint that is not the only joint of a tree's first body; [`TreeError::Binding`] for a
/// tendon or actuator that binds what no single tree can hold.
pub fn compile(model: &Model, settings: &Settings) -> Result<Vec<TreeSet>, TreeError> {
    check_bindings(model)?;
    sensors::check(model)?;
    let mut sets: Vec<TreeSet> = Vec::new();
    for index in 0..model.trees.len() {
        if let Some(soft) = model.trees[index].soft {
            sets.push(TreeSet::soft(model, index, soft, settings));
            continue;
        }
        let tree = TreeView::new(model, index, settings.integrator)?;
        let layout = tree.layout();
        let mut params = params::params(&tree, &layout.dims, settings);
        initial::complete(&tree, &layout, &mut params);
        let set = match sets.iter_mut().position(|set| set.layout == layout) {
            Some(found) => &mut sets[found],
            None => {
                sets.push(TreeSet {
                    trees: Vec::new(),
                    layout,
                    params: Vec::new(),
                    actuators: Vec::new(),
                    activations: Vec::new(),
                    tendons: Vec::new(),
                    sensors: Vec::new(),
                    adhesion: Vec::new(),
                    equalities: Vec::new(),
                });
                let last = sets.len() - 1;
                &mut sets[last]
            }
        };
        set.trees.push(index);
        set.params.push(params);
        set.activations.push(activations(model, &tree.actuators));
        set.adhesion.push(adhesion(model, &tree.actuators));
        set.tendons.push(tree.tendons);
        set.sensors.push(tree.sensors);
        set.actuators.push(tree.actuators);
        set.equalities.push(tree.equalities);
    }
    Ok(sets)
}

/// Tendons and actuators have to bind bodies that joints move, and the ground.
fn check_bindings(model: &Model) -> Result<(), TreeError> {
    let paths = model.tendons.iter().enumerate();
    let paths = paths.map(|(i, tendon)| ("tendon", i, &tendon.name, model.bodies_of_path(&tendon.path)));
    let actuators = model.actuators.iter().enumerate();
    let actuators = actuators.map(|(i, a)| ("actuator", i, &a.name, model.bodies_of(&a.transmission)));
    for (what, index, name, bodies) in paths.chain(actuators) {
        if bodies.iter().any(|&body| model.bodies[body].mocap.is_some()) {
            let message = "binding a mocap body is not supported";
            return Err(TreeError::Binding { what, index, name: name.clone(), message });
        }
    }
    for (index, actuator) in model.actuators.iter().enumerate() {
        if let Transmission::Adhesion(body) = actuator.transmission
            && model.bodies[body].tree.is_none()
        {
            let (name, message) = (actuator.name.clone(), "adhesion of a body that no joint moves is not supported");
            return Err(TreeError::Binding { what: "actuator", index, name, message });
        }
    }
    Ok(())
}

/// Which of some actuators adhere.
fn adhesion(model: &Model, actuators: &[usize]) -> Vec<u32> {
    let adheres = |a: usize| matches!(model.actuators[a].transmission, Transmission::Adhesion(_));
    (0..actuators.len() as u32).filter(|&number| adheres(actuators[number as usize])).collect()
}

/// Which of the model's activations are those of some actuators.
fn activations(model: &Model, actuators: &[usize]) -> Vec<usize> {
    let before = |actuator: usize| model.actuators[..actuator].iter().filter(|a| a.activation.is_some()).count();
    actuators.iter().filter(|&&a| model.actuators[a].activation.is_some()).map(|&a| before(a)).collect()
}
