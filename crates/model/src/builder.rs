//! Building a model in code; the importers use it too.

use std::ops::Range;

use crate::{
    Actuator, Body, Equality, EqualityKind, ExplicitPair, FluidShape, Geom, HeightField, Inertial, Joint, Keyframe,
    Mat3, Mesh, Model, ModelError, Options, Path, Pose, Sdf, Sensor, Site, SoftBody, Tendon, Transmission, Tree, Vec3,
    Waypoint,
    visual::{Look, Visual},
};

/// Collects the parts of a model in any parent-first order; [`ModelBuilder::build`] sorts depth-first and validates.
///
/// Indices that its methods return are the builder's own: `build` renumbers bodies, joints and geoms depth-first and
/// carries every reference along.
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    name: String,
    /// Time step and gravity.
    pub options: Options,
    pub(crate) bodies: Vec<Body>,
    pub(crate) joints: Vec<Joint>,
    pub(crate) geoms: Vec<Geom>,
    pub(crate) meshes: Vec<Mesh>,
    pub(crate) heightfields: Vec<HeightField>,
    pub(crate) sdfs: Vec<Sdf>,
    pub(crate) sites: Vec<Site>,
    pub(crate) fluid_shapes: Vec<FluidShape>,
    pub(crate) tendons: Vec<Tendon>,
    pub(crate) actuators: Vec<Actuator>,
    pub(crate) sensors: Vec<Sensor>,
    pub(crate) equalities: Vec<Equality>,
    pub(crate) pairs: Vec<ExplicitPair>,
    pub(crate) excludes: Vec<(usize, usize)>,
    pub(crate) keyframes: Vec<Keyframe>,
    pub(crate) mocaps: Vec<usize>,
    /// Soft bodies, and how many bodies there were before each.
    pub(crate) soft: Vec<(SoftBody, usize)>,
    pub(crate) visual: Visual,
}

impl ModelBuilder {
    /// An empty world with the ground as body 0.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let ground = Body {
            name: "ground".into(),
            parent: 0,
            pose: Pose::identity(),
            inertial: Inertial { mass: 0.0, com: Vec3::zeros(), inertia: Mat3::zeros() },
            gravity_compensation: 0.0,
            joints: 0..0,
            geoms: 0..0,
            tree: None,
            mocap: None,
        };
        Self {
            name: name.into(),
            options: Options::default(),
            bodies: vec![ground],
            joints: Vec::new(),
            geoms: Vec::new(),
            meshes: Vec::new(),
            heightfields: Vec::new(),
            sdfs: Vec::new(),
            sites: Vec::new(),
            fluid_shapes: Vec::new(),
            tendons: Vec::new(),
            actuators: Vec::new(),
            sensors: Vec::new(),
            equalities: Vec::new(),
            pairs: Vec::new(),
            excludes: Vec::new(),
            keyframes: Vec::new(),
            mocaps: Vec::new(),
            soft: Vec::new(),
            visual: Visual::default(),
        }
    }

    /// Adds a body to a parent that is there already.
    pub fn body(&mut self, name: impl Into<String>, parent: usize, pose: Pose, inertial: Inertial) -> usize {
        self.bodies.push(Body {
            name: name.into(),
            parent,
            pose,
            inertial,
            gravity_compensation: 0.0,
            joints: 0..0,
            geoms: 0..0,
            tree: None,
            mocap: None,
        });
        self.bodies.len() - 1
    }

    /// Makes a body a mocap body: its pose is what the user says at any time. It must be fixed to the ground.
    pub fn mocap(&mut self, body: usize) {
        self.mocaps.push(body);
    }

    /// Adds a joint; several on one body act in the order of their addition.
    pub fn joint(&mut self, joint: Joint) -> usize {
        self.joints.push(joint);
        self.joints.len() - 1
    }

    /// Adds a geom.
    pub fn geom(&mut self, geom: Geom) -> usize {
        self.geoms.push(geom);
        self.visual.geoms.push(Look::default());
        self.geoms.len() - 1
    }

    /// Adds a mesh for [`crate::Shape::Mesh`].
    pub fn mesh(&mut self, mesh: Mesh) -> usize {
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }

    /// Adds a heightfield for [`crate::Shape::HeightField`].
    pub fn heightfield(&mut self, field: HeightField) -> usize {
        self.heightfields.push(field);
        self.heightfields.len() - 1
    }

    /// Adds a distance function for [`crate::Shape::Sdf`].
    pub fn sdf(&mut self, sdf: Sdf) -> usize {
        self.sdfs.push(sdf);
        self.sdfs.len() - 1
    }

    /// Makes a force at a body's centre of mass carry a fraction of its weight.
    ///
    /// # Errors
    /// [`ModelError::Invalid`] when there is no such body.
    pub fn compensate_gravity(&mut self, body: usize, fraction: f64) -> Result<(), ModelError> {
        let n = self.bodies.len();
        let body = self.bodies.get_mut(body).ok_or_else(|| ModelError::Invalid {
            element: format!("body {body}"),
            message: format!("gravity compensation of a body that is not there; there are {n}"),
        })?;
        body.gravity_compensation = fraction;
        Ok(())
    }

    /// Adds a frame on a body.
    pub fn site(&mut self, site: Site) -> usize {
        self.sites.push(site);
        self.sites.len() - 1
    }

    /// Adds an ellipsoid that a fluid acts on.
    pub fn fluid_shape(&mut self, shape: FluidShape) {
        self.fluid_shapes.push(shape);
    }

    /// Adds a tendon.
    pub fn tendon(&mut self, tendon: Tendon) -> usize {
        self.tendons.push(tendon);
        self.tendons.len() - 1
    }

    /// Adds an actuator.
    pub fn actuator(&mut self, actuator: Actuator) {
        self.actuators.push(actuator);
    }

    /// Adds a soft body. Its degrees of freedom come behind those of the bodies that were added before; where its own body
    /// moves, behind those of the whole tree of that.
    pub fn soft_body(&mut self, soft: SoftBody) -> usize {
        self.soft.push((soft, self.bodies.len()));
        self.soft.len() - 1
    }

    /// Adds a sensor.
    pub fn sensor(&mut self, sensor: Sensor) -> usize {
        self.sensors.push(sensor);
        self.sensors.len() - 1
    }

    /// Adds a bilateral constraint.
    pub fn equality(&mut self, equality: Equality) {
        self.equalities.push(equality);
    }

    /// Sets the contact parameters of one pair of geoms.
    pub fn pair(&mut self, pair: ExplicitPair) {
        self.pairs.push(pair);
    }

    /// Keeps two bodies from touching.
    pub fn exclude(&mut self, first: usize, second: usize) {
        self.excludes.push((first, second));
    }

    /// Adds a named state, in the model's final order of joints.
    pub fn keyframe(&mut self, keyframe: Keyframe) {
        self.keyframes.push(keyframe);
    }

    /// Sorts the parts depth-first and validates them.
    ///
    /// # Errors
    /// [`ModelError::Invalid`] names the first part that is wrong.
    pub fn build(mut self) -> Result<Model, ModelError> {
        self.validate()?;
        for joint in &mut self.joints {
            joint.axis = joint.axis.try_normalize(0.0).unwrap_or_else(Vec3::z);
        }
        let order = depth_first(&self.bodies);
        let mut new_body = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_body[old] = new;
        }
        let (joints, new_joint) = gather(self.joints, |j| new_body[j.body]);
        let (geoms, new_geom) = gather(self.geoms, |g| new_body[g.body]);
        let mut model = Model {
            name: self.name,
            options: self.options,
            bodies: order.iter().map(|&old| self.bodies[old].clone()).collect(),
            joints,
            geoms,
            meshes: self.meshes,
            heightfields: self.heightfields,
            sdfs: self.sdfs,
            sites: self.sites,
            fluid_shapes: self.fluid_shapes,
            tendons: self.tendons,
            actuators: self.actuators,
            sensors: self.sensors,
            equalities: self.equalities,
            pairs: self.pairs,
            excludes: self.excludes,
            keyframes: self.keyframes,
            mocaps: self.mocaps,
            soft: Vec::new(),
            visual: self.visual,
            trees: Vec::new(),
            n_q: 0,
            n_v: 0,
        };
        model.renumber(&new_body, &new_joint, &new_geom);
        let mut before = Vec::with_capacity(self.soft.len());
        for (mut soft, bodies) in self.soft {
            soft.body = new_body[soft.body];
            // The last of the bodies that were there.
            before.push(new_body[..bodies].iter().copied().max().unwrap_or(0));
            model.soft.push(soft);
        }
        model.lay_out(&before);
        Ok(model)
    }
}

impl Model {
    fn renumber(&mut self, new_body: &[usize], new_joint: &[usize], new_geom: &[usize]) {
        use EqualityKind::{Connect, Coupling, TendonCoupling, Weld};
        for body in &mut self.bodies {
            body.parent = new_body[body.parent];
        }
        for joint in &mut self.joints {
            joint.body = new_body[joint.body];
        }
        for geom in &mut self.geoms {
            geom.body = new_body[geom.body];
        }
        for site in &mut self.sites {
            site.body = new_body[site.body];
        }
        for shape in &mut self.fluid_shapes {
            shape.body = new_body[shape.body];
        }
        for tendon in &mut self.tendons {
            match &mut tendon.path {
                Path::Fixed(terms) => terms.iter_mut().for_each(|(joint, _)| *joint = new_joint[*joint]),
                Path::Spatial(points) => {
                    for point in points {
                        if let Waypoint::Obstacle(obstacle) = point {
                            obstacle.body = new_body[obstacle.body];
                        }
                    }
                }
            }
        }
        for actuator in &mut self.actuators {
            if let Transmission::Joint(joint) | Transmission::JointInParent(joint) = &mut actuator.transmission {
                *joint = new_joint[*joint];
            }
            if let Transmission::Adhesion(body) = &mut actuator.transmission {
                *body = new_body[*body];
            }
        }
        for sensor in &mut self.sensors {
            sensor.measures.renumber(new_body, new_joint, new_geom);
        }
        for equality in &mut self.equalities {
            match &mut equality.kind {
                Connect { bodies, .. } | Weld { bodies, .. } => *bodies = bodies.map(|b| new_body[b]),
                Coupling { joint, driver, .. } => {
                    *joint = new_joint[*joint];
                    *driver = driver.map(|d| new_joint[d]);
                }
                TendonCoupling { .. } => {}
            }
        }
        let looks = self.visual.geoms.clone();
        for (old, look) in looks.into_iter().enumerate() {
            self.visual.geoms[new_geom[old]] = look;
        }
        let cameras = self.visual.cameras.iter_mut().map(|camera| (&mut camera.body, &mut camera.following));
        let lights = self.visual.lights.iter_mut().map(|light| (&mut light.body, &mut light.following));
        for (body, following) in cameras.chain(lights) {
            *body = new_body[*body];
            following.target_mut().into_iter().for_each(|target| *target = new_body[*target]);
        }
        for pair in &mut self.pairs {
            pair.geoms = pair.geoms.map(|g| new_geom[g]);
        }
        for mocap in &mut self.mocaps {
            *mocap = new_body[*mocap];
        }
        self.mocaps.sort_unstable();
        for exclude in &mut self.excludes {
            *exclude = (new_body[exclude.0], new_body[exclude.1]);
        }
    }

    /// Ranges of joints, geoms, `q`, `v` and trees from the sorted lists. `before`: the last body that each soft body comes
    /// behind.
    fn lay_out(&mut self, before: &[usize]) {
        for (index, body) in self.bodies.iter_mut().enumerate() {
            body.joints = range_of(&self.joints, |j| j.body, index);
            body.geoms = range_of(&self.geoms, |g| g.body, index);
        }
        for index in 1..self.bodies.len() {
            let body = &self.bodies[index];
            let above = if body.joints.is_empty() { self.bodies[body.parent].mocap } else { None };
            self.bodies[index].mocap = self.mocaps.iter().position(|&mocap| mocap == index).or(above);
        }
        self.trees.clear();
        for index in 1..self.bodies.len() {
            let body = &self.bodies[index];
            let tree = match self.bodies[body.parent].tree {
                Some(tree) => tree,
                None if body.joints.is_empty() => continue,
                None => {
                    self.trees.push(Tree {
                        bodies: index..index,
                        joints: body.joints.start..0,
                        q: 0..0,
                        v: 0..0,
                        soft: None,
                    });
                    self.trees.len() - 1
                }
            };
            self.trees[tree].bodies.end = index + 1;
            self.trees[tree].joints.end = body.joints.end;
            self.bodies[index].tree = Some(tree);
        }
        self.unite_coupled_trees();
        self.lay_out_states(before);
        for tree in &mut self.trees {
            let (first, last) = (&self.joints[tree.joints.start], &self.joints[tree.joints.end - 1]);
            tree.q = first.q_start..last.q_start + last.kind.n_q();
            tree.v = first.v_start..last.v_start + last.kind.n_v();
        }
        let soft = self.soft.iter().enumerate();
        self.trees.extend(soft.map(|(index, soft)| Tree {
            bodies: 0..0,
            joints: 0..0,
            q: soft.q.clone(),
            v: soft.v.clone(),
            soft: Some(index),
        }));
    }

    /// Entries of `q` and `v` of joints and soft bodies, in the order of bodies; a tree's stay together, and behind them those
    /// of the soft bodies that it carries.
    fn lay_out_states(&mut self, before: &[usize]) {
        let last = |body: usize| {
            let tree = self.trees.iter().find(|tree| tree.bodies.contains(&body));
            tree.map_or(body, |tree| tree.bodies.end - 1)
        };
        let place = |(index, &before): (usize, &usize)| {
            let carrier = self.soft[index].body;
            let carried = self.bodies[carrier].tree.is_some();
            (last(if carried { carrier } else { before }), !carried, index)
        };
        let mut order: Vec<_> = before.iter().enumerate().map(place).collect();
        order.sort_unstable();
        let mut order = order.into_iter().peekable();
        (self.n_q, self.n_v) = (0, 0);
        for index in 0..self.joints.len() {
            while let Some((.., soft)) = order.next_if(|&(body, ..)| body < self.joints[index].body) {
                self.lay_out_soft(soft);
            }
            let joint = &mut self.joints[index];
            (joint.q_start, joint.v_start) = (self.n_q, self.n_v);
            self.n_q += joint.kind.n_q();
            self.n_v += joint.kind.n_v();
        }
        order.for_each(|(.., soft)| self.lay_out_soft(soft));
    }

    fn lay_out_soft(&mut self, index: usize) {
        let soft = &mut self.soft[index];
        let n = 3 * (soft.nodes.len() - soft.pinned.len());
        (soft.q, soft.v) = (self.n_q..self.n_q + n, self.n_v..self.n_v + n);
        self.n_q += n;
        self.n_v += n;
    }
}

impl Model {
    /// Makes one tree of those that hold joints which are coupled, or that a tendon, an actuator or a coupling of tendons
    /// binds, of all between them, and of the fixed body that bears them all: no solver has to couple single joints of two
    /// trees.
    fn unite_coupled_trees(&mut self) {
        let tree_of = |joint: usize| self.bodies[self.joints[joint].body].tree;
        let mut united: Vec<Range<usize>> = Vec::new();
        for equality in self.equalities.iter().filter(|equality| equality.active) {
            let EqualityKind::Coupling { joint, driver: Some(driver), .. } = equality.kind else { continue };
            let (Some(a), Some(b)) = (tree_of(joint), tree_of(driver)) else { continue };
            if a != b {
                united.push(a.min(b)..a.max(b) + 1);
            }
        }
        let paths = self.tendons.iter().map(|tendon| self.bodies_of_path(&tendon.path));
        let transmissions = self.actuators.iter().map(|actuator| self.bodies_of(&actuator.transmission));
        let couplings = self.equalities.iter().filter(|equality| equality.active).filter_map(|equality| {
            let EqualityKind::TendonCoupling { tendon, driver: Some(driver), .. } = equality.kind else { return None };
            let paths = [tendon, driver].map(|tendon| &self.tendons[tendon].path);
            Some(paths.iter().flat_map(|path| self.bodies_of_path(path)).collect())
        });
        for bodies in paths.chain(transmissions).chain(couplings) {
            let trees = || bodies.iter().filter_map(|&body| self.bodies[body].tree);
            if let (Some(first), Some(last)) = (trees().min(), trees().max())
                && first != last
            {
                united.push(first..last + 1);
            }
        }
        while let Some(mut trees) = united.pop() {
            let mut base = self.bearer(trees.clone());
            loop {
                // Whatever else stands on the bearer belongs to it, and whatever is united with part of that.
                let first = self.trees.iter().position(|tree| tree.bodies.start > base).unwrap_or(trees.start);
                let mut all = first.min(trees.start)..trees.end;
                united.retain(|other| {
                    let apart = other.end <= all.start || all.end <= other.start;
                    all = if apart { all.clone() } else { all.start.min(other.start)..all.end.max(other.end) };
                    apart
                });
                if all == trees {
                    break;
                }
                trees = all;
                base = self.bearer(trees.clone());
            }
            let joints = self.trees[trees.start].joints.start..self.trees[trees.end - 1].joints.end;
            let bodies = base..self.trees[trees.end - 1].bodies.end;
            let (first, gone) = (trees.start, trees.len() - 1);
            self.trees.splice(trees.clone(), [Tree { bodies, joints, q: 0..0, v: 0..0, soft: None }]);
            for body in &mut self.bodies {
                body.tree = body.tree.map(|tree| if tree < trees.end { tree.min(first) } else { tree - gone });
            }
            for other in united.iter_mut().filter(|other| other.start >= trees.end) {
                *other = other.start - gone..other.end - gone;
            }
        }
    }

    /// The last body that bears the roots of all these trees.
    fn bearer(&self, trees: Range<usize>) -> usize {
        let lineage = |mut body: usize| {
            let mut all = vec![body];
            while body > 0 {
                body = self.bodies[body].parent;
                all.push(body);
            }
            all
        };
        let mut roots = self.trees[trees].iter().map(|tree| self.bodies[tree.bodies.start].parent);
        let first = roots.next().map_or_else(Vec::new, lineage);
        let bears = |body: usize, root: usize| lineage(root).contains(&body);
        let roots: Vec<usize> = roots.collect();
        first.into_iter().find(|&body| roots.iter().all(|&root| bears(body, root))).unwrap_or(0)
    }
}

/// Old indices in depth-first order; children keep the order of their addition.
fn depth_first(bodies: &[Body]) -> Vec<usize> {
    let mut children = vec![Vec::new(); bodies.len()];
    for (index, body) in bodies.iter().enumerate().skip(1) {
        children[body.parent].push(index);
    }
    let mut order = Vec::with_capacity(bodies.len());
    let mut stack = vec![0];
    while let Some(body) = stack.pop() {
        order.push(body);
        stack.extend(children[body].iter().rev());
    }
    order
}

/// Stable sort by a key; also where each old index went.
fn gather<T>(items: Vec<T>, key: impl Fn(&T) -> usize) -> (Vec<T>, Vec<usize>) {
    let mut tagged: Vec<(usize, T)> = items.into_iter().enumerate().collect();
    tagged.sort_by_key(|(_, item)| key(item));
    let mut new = vec![0; tagged.len()];
    for (to, (from, _)) in tagged.iter().enumerate() {
        new[*from] = to;
    }
    (tagged.into_iter().map(|(_, item)| item).collect(), new)
}

/// Where a key stands in a list sorted by it.
fn range_of<T>(items: &[T], key: impl Fn(&T) -> usize, wanted: usize) -> Range<usize> {
    items.partition_point(|i| key(i) < wanted)..items.partition_point(|i| key(i) <= wanted)
}
