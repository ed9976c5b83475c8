//! Attributes of an element with those of its default classes behind them.

use std::rc::Rc;
use std::str::FromStr;

use crate::xml::Element;
use crate::{ModelError, Vec3};

/// Bounds further away are none.
const FAR: f64 = 1e10;

/// An element and the default elements that apply to it, by class, the most general first.
///
/// A later element overrides an earlier one, and a shorter vector overrides only the entries it gives, as in MuJoCo.
pub(crate) struct Attributes<'a> {
    pub(crate) element: &'a Element,
    pub(crate) defaults: Vec<Vec<Rc<Element>>>,
}

impl<'a> Attributes<'a> {
    /// An element without defaults.
    pub(crate) fn bare(element: &'a Element) -> Self {
        Self { element, defaults: Vec::new() }
    }

    /// The layers, the most general first and the element itself last.
    pub(crate) fn layers(&self) -> impl DoubleEndedIterator<Item = &Element> {
        self.defaults.iter().flatten().map(Rc::as_ref).chain(std::iter::once(self.element))
    }

    /// The layers class by class, the element itself as the last.
    pub(crate) fn classes(&self) -> impl Iterator<Item = Vec<&Element>> {
        let of_class = self.defaults.iter().map(|class| class.iter().map(Rc::as_ref).collect());
        of_class.chain(std::iter::once(vec![self.element]))
    }

    /// The text of an attribute, from the most specific layer that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.layers().rev().find_map(|layer| layer.get(name))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ModelError {
        self.element.error(message)
    }

    /// All numbers of an attribute; `None` without it.
    pub(crate) fn list<T: FromStr + Into<f64> + Copy>(&self, name: &str) -> Result<Option<Vec<T>>, ModelError> {
        self.get(name).map(|text| self.parse_list(name, text)).transpose()
    }

    /// Exactly `N` numbers; `None` without the attribute.
    pub(crate) fn exactly<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, ModelError> {
        let Some(list) = self.list::<f64>(name)? else { return Ok(None) };
        self.array(name, list).map(Some)
    }

    fn array<const N: usize>(&self, name: &str, list: Vec<f64>) -> Result<[f64; N], ModelError> {
        let found = list.len();
        list.try_into().map_err(|_| self.error(format!("`{name}` needs {N} numbers, found {found}")))
    }

    /// Three numbers.
    pub(crate) fn vector(&self, name: &str) -> Result<Option<Vec3>, ModelError> {
        Ok(self.exactly::<3>(name)?.map(Vec3::from))
    }

    /// One number.
    pub(crate) fn number(&self, name: &str, default: f64) -> Result<f64, ModelError> {
        Ok(self.exactly::<1>(name)?.map_or(default, |[x]| x))
    }

    /// At most `N` numbers laid over the defaults, layer by layer.
    pub(crate) fn overlay<const N: usize>(&self, name: &str, mut value: [f64; N]) -> Result<[f64; N], ModelError> {
        for text in self.layers().filter_map(|layer| layer.get(name)) {
            let list = self.parse_list::<f64>(name, text)?;
            if list.len() > N {
                return Err(self.error(format!("`{name}` takes at most {N} numbers, found {}", list.len())));
            }
            value[..list.len()].copy_from_slice(&list);
        }
        Ok(value)
    }

    /// One integer.
    pub(crate) fn integer(&self, name: &str, default: i32) -> Result<i32, ModelError> {
        let Some(list) = self.list::<i32>(name)? else { return Ok(default) };
        match list[..] {
            [value] => Ok(value),
            _ => Err(self.error(format!("`{name}` needs one integer, found {}", list.len()))),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, ModelError> {
        match self.get(name) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(self.error(format!("`{name}` must be true or false, found `{other}`"))),
        }
    }

    /// `true`, `false`, or `auto` (`None`, also without the attribute).
    pub(crate) fn tristate(&self, name: &str) -> Result<Option<bool>, ModelError> {
        match self.get(name) {
            None | Some("auto") => Ok(None),
            Some(_) => self.flag(name, false).map(Some),
        }
    }

    /// A range, when it acts: `limited` says so, or it is there and `autolimits` is on. Reversed ones are refused.
    pub(crate) fn range(&self, name: &str, limited: &str, autolimits: bool) -> Result<Option<[f64; 2]>, ModelError> {
        let range = self.bounds(name)?;
        // MuJoCo takes the range 0 0 for no range at all.
        let defined = range.is_some_and(|r| r != [0.0, 0.0]);
        let acts = match self.tristate(limited)? {
            Some(limited) => limited,
            None if defined && !autolimits => {
                return Err(self.error(format!("`{name}` without `{limited}` is an error when autolimits is false")));
            }
            None => defined,
        };
        if !acts {
            return Ok(None);
        }
        match range {
            Some([low, high]) if low <= -FAR && high >= FAR => Ok(None),
            Some([low, high]) if low <= high => Ok(range),
            Some([low, high]) => Err(self.error(format!("`{name}` is reversed: {low} is above {high}"))),
            None => Err(self.error(format!("`{limited}` is true but `{name}` is missing"))),
        }
    }

    /// Two bounds, of which an infinite one is where nothing gets.
    fn bounds(&self, name: &str) -> Result<Option<[f64; 2]>, ModelError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let bounds: [f64; 2] = self.array(name, self.parse_words(name, text, "a number", |x: f64| !x.is_nan())?)?;
        Ok(Some(bounds.map(|bound| bound.clamp(-FAR, FAR))))
    }

    fn parse_list<T: FromStr + Into<f64> + Copy>(&self, name: &str, text: &str) -> Result<Vec<T>, ModelError> {
        self.parse_words(name, text, "a finite number", f64::is_finite)
    }

    /// The words of an attribute as numbers, each of which is to be `what`.
    fn parse_words<T: FromStr + Into<f64> + Copy>(
        &self,
        name: &str,
        text: &str,
        what: &str,
        is_what: impl Fn(f64) -> bool,
    ) -> Result<Vec<T>, ModelError> {
        let parse = |word: &str| match word.parse::<T>() {
            Ok(value) if is_what(value.into()) => Ok(value),
            _ => Err(self.error(format!("`{name}`: `{word}` is not {what}"))),
        };
        text.split_whitespace().map(parse).collect()
    }
}
