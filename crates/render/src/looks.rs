//! How the geoms of a model look: which are drawn, and in which colour.

use manyworlds_model::{Model, Shape, Vec3};

/// Of bodies, as bytes of sRGB.
pub(crate) const COLOURS: [[u8; 3]; 9] = [
    [0x4c, 0x78, 0xa8],
    [0xf5, 0x85, 0x18],
    [0x54, 0xa2, 0x4b],
    [0xe4, 0x57, 0x56],
    [0x72, 0xb7, 0xb2],
    [0xee, 0xca, 0x3b],
    [0xb2, 0x79, 0xa2],
    [0xff, 0x9d, 0xa6],
    [0x9d, 0x75, 0x5d],
];
/// Of what never moves.
const STILL: [u8; 3] = [0xb4, 0xb8, 0xbd];
/// Of the ground.
pub(crate) const GROUND: [u8; 3] = [0xb3, 0xba, 0xc0];

/// Groups of geoms from this on are there to collide: MuJoCo's viewers do not draw them.
const COLLIDING: i32 = 3;

/// Whether a geom is drawn: not where it is quite transparent, nor, on a body that has others to be seen, where it is in a group
/// that is there to collide, or collides and has no look.
pub(crate) fn is_drawn(model: &Model, geom: usize) -> bool {
    let body = model.bodies[model.geoms[geom].body].geoms.clone();
    let looks = |geom: usize| model.visual.geoms.get(geom).copied().unwrap_or_default();
    let is_shown = |geom: usize| model.visual.colour(geom)[3] > 0.0 && looks(geom).group < COLLIDING;
    let has_look = |geom: usize| looks(geom).rgba.is_some() || looks(geom).material.is_some();
    let collides = |geom: usize| {
        let contact = &model.geoms[geom].contact;
        contact.contype != 0 || contact.conaffinity != 0
    };
    let is_skin = |geom: usize| is_shown(geom) && !collides(geom) && has_look(geom);
    if body.clone().any(is_skin) && collides(geom) && !has_look(geom) {
        return false;
    }
    is_shown(geom) || (model.visual.colour(geom)[3] > 0.0 && !body.clone().any(is_shown))
}

/// The colour that the file gives a geom, itself or by its material, under its texture; what is not opaque counts as opaque.
pub(crate) fn colour(model: &Model, geom: usize) -> Option<[f32; 3]> {
    let look = model.visual.geoms.get(geom)?;
    let given = look.rgba.is_some() || look.material.is_some();
    let [r, g, b, _] = model.visual.colour(geom);
    given.then(|| linear([r, g, b].map(|x| (x * 255.0).round() as u8)))
}

/// What a geom's texture makes of its colour from afar.
pub(crate) fn tint(model: &Model, geom: usize) -> [f32; 3] {
    model.visual.tint(geom).map_or([1.0; 3], |tint| linear(tint.map(|x| (x * 255.0).round() as u8)))
}

/// Half the edges of a plane that is drawn as a wall: one that ends and does not lie flat. The ground goes on for ever.
pub(crate) fn wall(model: &Model, geom: usize) -> Option<[f32; 3]> {
    let own = &model.geoms[geom];
    let [x, y] = model.visual.geoms.get(geom)?.extent;
    let lies = own.body == 0 && (own.pose.rotation * Vec3::z()).z > 0.999;
    (own.shape == Shape::Plane && x > 0.0 && y > 0.0 && !lies).then_some([x as f32, y as f32, WALL])
}

/// Half the thickness of a wall, m.
const WALL: f32 = 1e-3;

/// A colour for each body: that of its tree, alternately lighter and darker from body to body, or one of its own in a model
/// of one tree.
pub(crate) fn colours(model: &Model) -> Vec<[f32; 3]> {
    let mut depth = vec![0; model.bodies.len()];
    let mut carriers = 0;
    let mut out = Vec::with_capacity(depth.len());
    for (number, body) in model.bodies.iter().enumerate() {
        if number > 0 {
            depth[number] = depth[body.parent] + 1;
        }
        let colour = match body.tree {
            None => linear(STILL),
            Some(_) if model.trees.len() == 1 => linear(COLOURS[carriers % COLOURS.len()]),
            Some(tree) => {
                linear(COLOURS[tree % COLOURS.len()]).map(|x| if depth[number] % 2 == 0 { 0.7 * x } else { x })
            }
        };
        carriers += usize::from(body.tree.is_some() && !body.geoms.is_empty());
        out.push(colour);
    }
    out
}

/// Intensities of a colour of sRGB.
pub(crate) fn linear(colour: [u8; 3]) -> [f32; 3] {
    colour.map(|byte| {
        let x = f32::from(byte) / 255.0;
        if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
    })
}

/// The colour of sRGB of intensities.
pub(crate) fn bytes(colour: [f32; 3]) -> [u8; 3] {
    colour.map(|x| {
        let x = x.clamp(0.0, 1.0);
        let y = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
        (255.0 * y).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intensities_of_colours_are_colours_again() {
        (0..=255).for_each(|byte| assert_eq!(bytes(linear([byte; 3])), [byte; 3]));
    }

    /// A model whose material `m` has a pattern of red and blue.
    fn model(bodies: &str) -> Model {
        let text = format!(
            r#"<mujoco><asset><texture name="t" type="2d" builtin="checker" rgb1="1 0 0.4" rgb2="0 0 0.6" width="9" height="9"/>
            <material name="m" texture="t" rgba="1 1 0.5 1"/></asset><worldbody>{bodies}</worldbody></mujoco>"#
        );
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(path.display().to_string()));
        manyworlds_model::from_mjcf_str("looks.xml", &text, &nothing, &Default::default()).expect("a model").model
    }

    #[test]
    fn what_is_there_to_be_seen_is_drawn() {
        let model = model(
            r#"<geom name="floor" type="plane" size="9 9 1"/><geom name="glass" size="1" rgba="1 1 1 0"/>
            <body name="link"><freejoint/><geom name="hull" size="0.1"/><geom name="group 3" size="0.1" group="3"/>
              <geom name="skin" size="0.1" material="m" contype="0" conaffinity="0"/>
              <geom name="pad" size="0.1" rgba="1 0 0 1"/></body>
            <body name="plain"><freejoint/><geom name="plain" size="0.1"/></body>
            <body name="bone"><freejoint/><geom name="bone" size="0.1" group="4"/></body>"#,
        );
        let drawn = (0..model.geoms.len()).filter(|&geom| is_drawn(&model, geom));
        let names: Vec<&str> = drawn.map(|geom| &model.geoms[geom].name[..]).collect();
        assert_eq!(names, ["floor", "skin", "pad", "plain", "bone"]);
    }

    #[test]
    fn planes_that_end_and_do_not_lie_are_walls() {
        let model = model(
            r#"<geom type="plane" size="9 9 1"/><geom type="plane" size="0 0 1" euler="90 0 0"/>
            <geom type="plane" size="2 1 1" euler="60 0 0"/>"#,
        );
        assert_eq!([0, 1, 2].map(|geom| wall(&model, geom)), [None, None, Some([2.0, 1.0, WALL])]);
    }

    #[test]
    fn patterns_tint_what_they_lie_on() {
        let model = model(r#"<geom size="1"/><geom size="1" material="m"/>"#);
        assert_eq!([0, 1].map(|geom| colour(&model, geom)), [None, Some(linear([255, 255, 128]))]);
        assert_eq!([0, 1].map(|geom| tint(&model, geom)), [[1.0; 3], linear([128, 0, 128])]);
    }
}
