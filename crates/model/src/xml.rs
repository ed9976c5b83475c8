//! XML text as a tree of elements that remember where they stand, with includes put in place.

mod scan;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use self::scan::{Malformed, Scanner, Tag};
use crate::import::text_of;
use crate::{Location, ModelError, Resolver};

/// Deeper nesting than any real model's is refused, as the importer recurses over the tree.
const MAX_DEPTH: usize = 256;

/// An XML element.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) children: Vec<Element>,
    source: Rc<Source>,
    line: u32,
}

/// A file that elements stand in.
#[derive(Debug)]
struct Source {
    file: PathBuf,
    is_included: bool,
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
        Location { file: self.source.file.clone(), line: self.line, element }
    }

    /// The folder of the included file that it stands in; `None` in a main file.
    pub(crate) fn included_from(&self) -> Option<PathBuf> {
        self.source.is_included.then(|| directory_of(&self.source.file))
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
        let malformed = |Malformed { line, why }| {
            let location = Location { file: file.to_owned(), line, element: String::new() };
            ModelError::Import { location, message: format!("malformed XML: {why}") }
        };
        let source = Rc::new(Source { file: file.to_owned(), is_included: depth > 0 });
        let mut scanner = Scanner::new(text);
        // From the root to the innermost element that is open.
        let mut open: Vec<Element> = Vec::new();
        loop {
            let element = match scanner.next().map_err(malformed)? {
                Some(Tag::Open { name, attributes, is_empty, line }) => {
                    let element =
                        Element { tag: name, attributes, children: Vec::new(), source: Rc::clone(&source), line };
                    if depth + open.len() > MAX_DEPTH {
                        return Err(element.error(format!("nested deeper than {MAX_DEPTH} elements")));
                    }
                    if !is_empty {
                        open.push(element);
                        continue;
                    }
                    element
                }
                // The scanner has checked names.
                Some(Tag::Close) => match open.pop() {
                    Some(element) => element,
                    None => continue,
                },
                None => {
                    let why = match open.last() {
                        Some(element) => format!("<{}> of line {} is not closed", element.tag, element.line),
                        None => "there is no element".to_owned(),
                    };
                    return Err(malformed(Malformed { line: scanner.line(), why }));
                }
            };
            let depth = depth + open.len();
            match open.last_mut() {
                // What follows the root is not read.
                None => return Ok(element),
                Some(parent) if element.tag == "include" => {
                    parent.children.extend(self.include(&element, depth)?);
                }
                Some(parent) => parent.children.push(element),
            }
        }
    }

    /// The children of an included document's root. Paths count from the main file's folder, or else from that of the file that
    /// includes, as in MuJoCo.
    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>, ModelError> {
        let file = include.required("file")?;
        let from_main = self.directory.join(file);
        let beside = include.included_from().map(|folder| folder.join(file)).filter(|beside| *beside != from_main);
        let (path, bytes) = first_of(self.resolver, &from_main, beside.as_deref())
            .map_err(|error| include.error(format!("cannot read {}: {error}", from_main.display())))?;
        if !self.seen.insert(path.clone()) {
            return Err(include.error(format!("{} is included a second time", path.display())));
        }
        Ok(self.document(&path, &text_of(bytes), depth)?.children)
    }
}
