//! XML text as a tree of elements that remember where they stand, with includes put in place.

use std::borrow::Cow;
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

    /// The folder of the file that it stands in.
    pub(crate) fn directory(&self) -> PathBuf {
        directory_of(&self.file)
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

/// The text without what other parsers pass over: a declaration that is not the first thing in the file, and the zero bytes at
/// its end. Lines and columns stay.
fn tidied(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\0');
    let begin = text.len() - text.trim_start().len();
    match text[begin..].strip_prefix("<?xml").and_then(|rest| rest.find("?>")) {
        Some(length) if begin > 0 => {
            let end = begin + "<?xml".len() + length + "?>".len();
            let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
            Cow::Owned(text[..end].chars().map(blank).chain(text[end..].chars()).collect())
        }
        _ => Cow::Borrowed(text),
    }
}

/// The folder of a file; empty for a bare name.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_owned()
}

/// A file, or else another; the error is the first one's.
pub(crate) fn first_of(resolver: &Resolver, path: &Path, other: Option<&Path>) -> std::io::Result<(PathBuf, Vec<u8>)> {
    let error = match resolver(path) {
        Ok(bytes) => return Ok((path.to_owned(), bytes)),
        Err(error) => error,
    };
    other.and_then(|other| Some((other.to_owned(), resolver(other).ok()?))).ok_or(error)
}

struct Reader<'a> {
    directory: PathBuf,
    resolver: &'a Resolver<'a>,
    seen: HashSet<PathBuf>,
}

impl Reader<'_> {
    fn document(&mut self, file: &Path, text: &str, depth: usize) -> Result<Element, ModelError> {
        let text = &tidied(text);
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

    /// The children of an included document's root. Paths count from the main file's folder, or else from that of the file that
    /// includes, as in MuJoCo.
    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>, ModelError> {
        let file = include.required("file")?;
        let from_main = self.directory.join(file);
        let beside = Some(include.directory().join(file)).filter(|beside| *beside != from_main);
        let (path, bytes) = first_of(self.resolver, &from_main, beside.as_deref())
            .map_err(|error| include.error(format!("cannot read {}: {error}", from_main.display())))?;
        if !self.seen.insert(path.clone()) {
            return Err(include.error(format!("{} is included a second time", path.display())));
        }
        let text = String::from_utf8(bytes).map_err(|_| file_error(&path, "not a text file (invalid UTF-8)"))?;
        Ok(self.document(&path, &text, depth)?.children)
    }
}
