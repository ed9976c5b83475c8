//! How links look: what collides has the colour or texture of the link's first visual that says one.

use super::Importer;
use super::robot::{Link, child};
use crate::ModelError;
use crate::attributes::Attributes;
use crate::picture;
use crate::visual::{Image, Look, Material, Texture, TextureKind};
use crate::xml::Element;

impl Importer<'_> {
    /// Materials of the robot, and those that visuals name first: others refer to both by name.
    pub(super) fn materials(&mut self, root: &Element) -> Result<(), ModelError> {
        let links = root.children.iter().filter(|element| element.tag == "link");
        let visuals = links.flat_map(|link| &link.children).filter(|element| element.tag == "visual");
        let own = root.children.iter().chain(visuals.flat_map(|visual| &visual.children));
        for element in own.filter(|element| element.tag == "material" && !element.children.is_empty()) {
            let Some(name) = element.get("name").filter(|name| !self.materials.contains_key(*name)) else { continue };
            let index = self.material(element)?;
            self.materials.insert(name.to_owned(), index);
        }
        Ok(())
    }

    fn material(&mut self, element: &Element) -> Result<usize, ModelError> {
        let rgba = match child(element, "color") {
            Some(colour) => Attributes::bare(colour).exactly::<4>("rgba")?.map(|rgba| rgba.map(|x| x as f32)),
            None => None,
        };
        let file = child(element, "texture").and_then(|texture| texture.get("filename"));
        let texture = file.and_then(|file| self.texture(element, file));
        let visual = &mut self.builder.visual;
        visual.materials.push(Material {
            name: element.get("name").unwrap_or_default().to_owned(),
            rgba: rgba.unwrap_or([1.0; 4]),
            texture,
            repeat: [1.0; 2],
            uniform: false,
            emission: 0.0,
            specular: 0.5,
            shininess: 0.5,
            reflectance: 0.0,
        });
        Ok(visual.materials.len() - 1)
    }

    /// Reads a texture; one that cannot be read is listed.
    fn texture(&mut self, element: &Element, file: &str) -> Option<usize> {
        let candidates = self.candidates(file);
        let found = candidates.iter().find_map(|path| Some((path, (self.resolver)(path).ok()?)));
        let read = match found {
            Some((path, bytes)) => picture::read(&bytes).map_err(|why| format!("texture {}: {why}", path.display())),
            None => {
                let tried: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
                Err(format!("cannot read the texture {file}; looked for {}", tried.join(", ")))
            }
        };
        match read {
            Ok(pixels) => {
                let textures = &mut self.builder.visual.textures;
                let image = Image::Pixels(pixels);
                textures.push(Texture { name: file.to_owned(), kind: TextureKind::Planar, image });
                Some(textures.len() - 1)
            }
            Err(why) => {
                self.report.ignore(element.location(), format!("looks only: {why}"));
                None
            }
        }
    }

    /// The look of what collides of a link.
    pub(super) fn look(&mut self, link: &Link) -> Result<Look, ModelError> {
        let visuals = link.element.children.iter().filter(|element| element.tag == "visual");
        for element in visuals.filter_map(|visual| child(visual, "material")) {
            let named = element.get("name").and_then(|name| self.materials.get(name)).copied();
            let material = match named {
                None if !element.children.is_empty() => Some(self.material(element)?),
                named => named,
            };
            if material.is_some() {
                return Ok(Look { material, ..Look::default() });
            }
        }
        Ok(Look::default())
    }
}
