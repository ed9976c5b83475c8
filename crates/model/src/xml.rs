//! XML text as a tree of elements that remember where they stand, with includes put in place.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::import::file_error;
use crate::{Location, ModelError, Resolver};

/// Deeper nesting than any real model's is refused, as the importer recurses over the tree.
const MAX_DEPTH: usize = 256;

/// An XML element.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Element>,
    file: Rc<Path>,
    line: u32,
}

impl Element {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn location(&self) -> Location {
        // Files of unnamed elements are easier to search by what the element refers to.
        let named = ["name", "class", "joint", "file", "mesh"].iter().find_map(|n| Some((n, self.get(n)?)));
        let element = match named {
            Some((attribute, value)) => format!("<{} {attribute}=\"{value}\">", self.tag),
            None => format!("<{}>", self.tag),
        };
        Location { file: self.file.to_path_buf(), line: self.line, element }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ModelError {
        ModelError::Import { location: self.location(), message: message.into() }
    }

    /// An attribute that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&str, ModelError> {
        self.get(name).ok_or_else(|| self.error(format!("attribute `{name}` is missing")))
    }
}

/// Parses a document and everything that it includes. `directory` is that of the main file.
pub(crate) fn parse(file: &Path, text: &str, resolver: &Resolver) -> Result<Element, ModelError> {
    let mut reader = Reader { directory: directory_of(file), resolver, seen: HashSet::from([file.to_owned()]) };
    reader.document(file, text, 0)
}

/// The folder of a file; empty for a bare name.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_owned()
}

struct Reader<'a> {
    directory: PathBuf,
    resolver: &'a Resolver<'a>,
    seen: HashSet<PathBuf>,
}

impl Reader<'_> {
    fn document(&mut self, file: &Path, text: &str, depth: usize) -> Result<Element, ModelError> {
        let document = roxmltree::Document::parse(text).map_err(|error| {
            let location = Location { file: file.to_owned(), line: error.pos().row, element: String::new() };
            ModelError::Import { location, message: format!("malformed XML: {error}") }
        })?;
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        self.element(document.root_element(), &Rc::from(file), &line_starts, depth)
    }

    fn element(
        &mut self,
        node: roxmltree::Node,
        file: &Rc<Path>,
        line_starts: &[usize],
        depth: usize,
    ) -> Result<Element, ModelError> {
        let line = line_starts.partition_point(|&start| start <= node.range().start);
        let mut element = Element {
            tag: node.tag_name().name().to_owned(),
            attributes: node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())).collect(),
            children: Vec::new(),
            file: Rc::clone(file),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        };
        if depth > MAX_DEPTH {
            return Err(element.error(format!("nested deeper than {MAX_DEPTH} elements")));
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            let child = self.element(child, file, line_starts, depth + 1)?;
            if child.tag == "include" {
                element.children.extend(self.include(&child, depth + 1)?);
            } else {
                element.children.push(child);
            }
        }
        Ok(element)
    }

    /// The children of an included document's root. Paths count from the main file's folder, as in MuJoCo.
    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>, ModelError> {
        let path = self.directory.join(include.required("file")?);
        if !self.seen.insert(path.clone()) {
            return Err(include.error(format!("{} is included a second time", path.display())));
        }
        let bytes = (self.resolver)(&path)
            .map_err(|error| include.error(format!("cannot read {}: {error}", path.display())))?;
        let text = String::from_utf8(bytes).map_err(|_| file_error(&path, "not a text file (invalid UTF-8)"))?;
        Ok(self.document(&path, &text, depth)?.children)
    }
}
