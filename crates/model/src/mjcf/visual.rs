//! Looks: materials, colours of geoms, cameras and lights. None of it changes how anything moves, so a reference
//! to what is missing is listed and not refused.

use super::bodies::{Place, named};
use super::{Importer, sections};
use crate::attributes::Attributes;
use crate::visual::{Camera, Following, GREY, Headlight, Light, LightKind, Look, Material};
use crate::xml::Element;
use crate::{Lens, Location, ModelError, Vec3};

/// Angle of view of a camera that says none, degrees.
const FIELD_OF_VIEW: f64 = 45.0;
/// Angle from the axis of a spotlight to its side, degrees.
const CUTOFF: f64 = 45.0;
/// Power of a spotlight that says none.
const EXPONENT: f64 = 10.0;

impl Importer<'_> {
    /// Textures and materials of a document; the order of assets is free.
    pub(super) fn looks(&mut self, root: &Element) -> Result<(), ModelError> {
        let assets = |tag| {
            let all = sections(root, "asset").flat_map(|section| &section.children);
            all.filter(move |element: &&Element| element.tag == tag)
        };
        for element in sections(root, "visual").flat_map(|section| &section.children) {
            if element.tag == "headlight" {
                self.headlight(element)?;
            }
        }
        assets("texture").try_for_each(|element| self.texture(element))?;
        assets("material").try_for_each(|element| self.material(element))
    }

    fn headlight(&mut self, element: &Element) -> Result<(), ModelError> {
        let a = Attributes::bare(element);
        let before = self.builder.visual.headlight;
        self.builder.visual.headlight = Headlight {
            diffuse: colour(&a, "diffuse", before.diffuse)?,
            specular: colour(&a, "specular", before.specular)?,
            ambient: colour(&a, "ambient", before.ambient)?,
            active: a.integer("active", i32::from(before.active))? != 0,
        };
        Ok(())
    }

    fn material(&mut self, element: &Element) -> Result<(), ModelError> {
        let a = self.defaults.apply(element, 0)?;
        let name = element.required("name")?.to_owned();
        let layer = element.children.iter().find(|child| child.tag == "layer" && child.get("role") == Some("rgb"));
        if element.children.len() > usize::from(layer.is_some()) {
            self.report.ignore(element.location(), "looks only: layers of a material other than its colour");
        }
        let texture = match layer.and_then(|layer| layer.get("texture")).or(a.get("texture")) {
            None => None,
            Some(texture) => {
                let found = self.names.textures.get(texture).copied();
                if found.is_none() {
                    self.report.ignore(element.location(), format!("looks only: no texture `{texture}` was read"));
                }
                found
            }
        };
        let material = Material {
            name: name.clone(),
            rgba: a.exactly::<4>("rgba")?.unwrap_or([1.0; 4]).map(|x| x as f32),
            texture,
            repeat: a.exactly::<2>("texrepeat")?.unwrap_or([1.0; 2]).map(|x| x as f32),
            uniform: a.flag("texuniform", false)?,
            emission: a.number("emission", 0.0)? as f32,
            specular: a.number("specular", 0.5)? as f32,
            shininess: a.number("shininess", 0.5)? as f32,
            reflectance: a.number("reflectance", 0.0)? as f32,
        };
        let index = self.builder.visual.materials.len();
        Self::name(&mut self.names.materials, element, &name, index)?;
        self.builder.visual.materials.push(material);
        Ok(())
    }

    /// How a geom looks.
    pub(super) fn look(&mut self, a: &Attributes) -> Result<Look, ModelError> {
        let rgba = a.exactly::<4>("rgba")?.map_or(GREY, |rgba| rgba.map(|x| x as f32));
        let material = match a.get("material") {
            None => None,
            Some(material) => {
                let found = self.names.materials.get(material).copied();
                if found.is_none() {
                    let why = format!("looks only: there is no material `{material}`");
                    self.report.ignore(a.element.location(), why);
                }
                found
            }
        };
        let size = if a.get("type") == Some("plane") { a.list::<f64>("size")? } else { None };
        let extent = size.map_or([0.0; 2], |size| std::array::from_fn(|k| size.get(k).copied().unwrap_or(0.0)));
        // As in MuJoCo the default grey, even written out, gives way to a material.
        Ok(Look { rgba: Some(rgba).filter(|rgba| *rgba != GREY), material, group: a.integer("group", 0)?, extent })
    }

    pub(super) fn camera(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        let a = self.defaults.apply(element, place.class)?;
        let index = self.builder.visual.cameras.len();
        let following = self.following(&a, Pointing::Camera(index))?;
        let degrees = a.number("fovy", FIELD_OF_VIEW)?;
        if !(degrees > 0.0 && degrees < 180.0) {
            return Err(a.error(format!("`fovy` must be between 0 and 180 degrees, found {degrees}")));
        }
        let orthographic = a.flag("orthographic", false)? || a.get("projection") == Some("orthographic");
        if orthographic || a.has("sensorsize") {
            let why = "looks only: an orthographic camera or one of a given sensor is taken as a plain one";
            self.report.ignore(element.location(), why);
        }
        let pose = place.frame * self.compiler.pose(&a)?;
        let field_of_view = if orthographic { FIELD_OF_VIEW } else { degrees }.to_radians();
        let lens = lens(&a, field_of_view)?;
        let name = named(element, place);
        Self::name(&mut self.names.cameras, element, &name, index)?;
        self.builder.visual.cameras.push(Camera { name, body: place.body, pose, following, field_of_view, lens });
        Ok(())
    }

    pub(super) fn light(&mut self, element: &Element, place: &Place) -> Result<(), ModelError> {
        let a = self.defaults.apply(element, place.class)?;
        if !a.flag("active", true)? {
            return Ok(());
        }
        let following = self.following(&a, Pointing::Light(self.builder.visual.lights.len()))?;
        let kind = match a.get("type") {
            None if a.flag("directional", false)? => LightKind::Directional,
            Some("directional") => LightKind::Directional,
            Some("point") => LightKind::Point,
            None | Some("spot") => LightKind::Spot(a.number("cutoff", CUTOFF)?.to_radians()),
            Some("image") => {
                self.report.ignore(element.location(), "looks only: light from a picture");
                return Ok(());
            }
            Some(other) => return Err(a.error(format!("unknown light type `{other}`"))),
        };
        let position = a.vector("pos")?.unwrap_or_else(Vec3::zeros);
        let direction = a.vector("dir")?.unwrap_or_else(|| -Vec3::z());
        let direction = direction.try_normalize(1e-14).ok_or_else(|| a.error("`dir` has zero length"))?;
        self.builder.visual.lights.push(Light {
            name: named(element, place),
            body: place.body,
            position: (place.frame * nalgebra::Point3::from(position)).coords,
            direction: place.frame.rotation * direction,
            following,
            kind,
            casts_shadows: a.flag("castshadow", true)?,
            diffuse: colour(&a, "diffuse", [0.7; 3])?,
            specular: colour(&a, "specular", [0.3; 3])?,
            ambient: colour(&a, "ambient", [0.0; 3])?,
            attenuation: a.exactly::<3>("attenuation")?.map_or([1.0, 0.0, 0.0], |x| x.map(|x| x as f32)),
            exponent: a.number("exponent", EXPONENT)? as f32,
        });
        Ok(())
    }

    /// The mode of a camera or light.
    fn following(&mut self, a: &Attributes, of: Pointing) -> Result<Following, ModelError> {
        match a.get("mode") {
            None | Some("fixed") => Ok(Following::Fixed),
            Some("track") => Ok(Following::Track),
            Some("trackcom") => Ok(Following::TrackCentre),
            Some(mode @ ("targetbody" | "targetbodycom")) => {
                let location = a.element.location();
                let Some(target) = a.get("target").map(str::to_owned) else {
                    self.report.ignore(location, "looks only: it points at no body");
                    return Ok(Following::Fixed);
                };
                self.names.aims.push(Aim { of, target, centre: mode == "targetbodycom", location });
                Ok(Following::Fixed)
            }
            Some(other) => Err(a.error(format!("unknown mode `{other}`"))),
        }
    }

    /// Points cameras and lights at their bodies, all of which are known now.
    pub(super) fn aim(&mut self) {
        for aim in std::mem::take(&mut self.names.aims) {
            let Some(&body) = self.names.bodies.get(&aim.target) else {
                let why = format!("looks only: it points at `{}`, and there is no such body", aim.target);
                self.report.ignore(aim.location, why);
                continue;
            };
            let following = match aim.of {
                Pointing::Camera(index) => &mut self.builder.visual.cameras[index].following,
                Pointing::Light(index) => &mut self.builder.visual.lights[index].following,
            };
            *following = if aim.centre { Following::TargetCentre(body) } else { Following::Target(body) };
        }
    }
}

/// A camera or light that points at a body.
pub(super) struct Aim {
    of: Pointing,
    target: String,
    /// Whether at its centre of mass.
    centre: bool,
    location: Location,
}

/// How a camera draws: by its angle of view, or, where it has a sensor, by its focal length.
fn lens(a: &Attributes, field_of_view: f64) -> Result<Lens, ModelError> {
    let pair = |name| Ok::<_, ModelError>(a.exactly::<2>(name)?.filter(|pair| *pair != [0.0; 2]));
    let [width, height] = a.exactly::<2>("resolution")?.unwrap_or([1.0; 2]);
    let focal = match (pair("sensorsize")?, pair("focalpixel")?, pair("focal")?) {
        (Some(_), Some(pixels), _) => pixels,
        (Some([across, up]), None, length) => {
            let [x, y] = length.unwrap_or_default();
            [x / across * width, y / up * height]
        }
        (None, ..) => [0.5 * height / (0.5 * field_of_view).tan(); 2],
    };
    Ok(Lens { focal, middle: [0.5 * width, 0.5 * height] })
}

/// An index into the list of cameras or of lights.
enum Pointing {
    Camera(usize),
    Light(usize),
}

/// Red, green and blue.
pub(super) fn colour(a: &Attributes, name: &str, default: [f32; 3]) -> Result<[f32; 3], ModelError> {
    Ok(a.exactly::<3>(name)?.map_or(default, |rgb| rgb.map(|x| x as f32)))
}
