//! The tags of an XML text, one after the other. What MuJoCo's parser takes is taken, since models are written for it: two
//! dashes in a comment, `<` and `&` in values, prefixes that nobody declared, a document type, text where none belongs.

use std::collections::HashSet;

/// A tag and the line on which it begins.
#[derive(Debug, PartialEq)]
pub(super) enum Tag {
    Open {
        name: String,
        /// Without declarations of prefixes.
        attributes: Vec<(String, String)>,
        /// Whether it closes itself.
        is_empty: bool,
        line: u32,
    },
    Close {
        name: String,
        line: u32,
    },
}

/// Why a text is no XML, and where.
#[derive(Debug, PartialEq)]
pub(super) struct Malformed {
    pub(super) line: u32,
    pub(super) why: String,
}

pub(super) struct Scanner<'a> {
    rest: &'a str,
    line: u32,
}

/// What a text may begin with after `<` that is no tag: beginning, end, and what it is called.
const PASSED_OVER: [(&str, &str, &str); 4] = [
    ("!--", "-->", "comment"),
    ("![CDATA[", "]]>", "CDATA section"),
    ("!", ">", "declaration"),
    ("?", "?>", "processing instruction"),
];

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// The line that is reached.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// The next tag; `None` at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<Tag>, Malformed> {
        loop {
            let Some(begin) = self.rest.find('<') else {
                self.skip(self.rest.len());
                return Ok(None);
            };
            self.skip(begin + 1);
            let Some((start, end, what)) = PASSED_OVER.iter().find(|(start, ..)| self.rest.starts_with(start)) else {
                return self.tag().map(Some);
            };
            let length = self.rest[start.len()..].find(end);
            let length = length.ok_or_else(|| self.malformed(format!("a {what} without `{end}`")))?;
            self.skip(start.len() + length + end.len());
        }
    }

    fn tag(&mut self) -> Result<Tag, Malformed> {
        let line = self.line;
        self.blank();
        let closes = self.take("/");
        let name = self.name().ok_or_else(|| self.malformed("`<` without a name"))?.to_owned();
        self.blank();
        if closes {
            return if self.take(">") {
                Ok(Tag::Close { name, line })
            } else {
                Err(self.malformed(format!("`</{name}` without `>`")))
            };
        }
        let mut attributes: Vec<(String, String)> = Vec::new();
        let mut names = HashSet::new();
        loop {
            let is_empty = self.take("/>");
            if is_empty || self.take(">") {
                return Ok(Tag::Open { name, attributes, is_empty, line });
            }
            let attribute = self.name().ok_or_else(|| self.malformed(format!("`<{name}` without `>`")))?;
            if !names.insert(attribute) {
                return Err(self.malformed(format!("<{name}>: a second attribute `{attribute}`")));
            }
            let value =
                self.value().map_err(|why| self.malformed(format!("<{name}>: attribute `{attribute}` {why}")))?;
            if attribute != "xmlns" && !attribute.starts_with("xmlns:") {
                attributes.push((attribute.to_owned(), unescaped(value)));
            }
            self.blank();
        }
    }

    /// `= "value"`, the text between the quotes.
    fn value(&mut self) -> Result<&'a str, &'static str> {
        self.blank();
        if !self.take("=") {
            return Err("has no value");
        }
        self.blank();
        let quote = self.rest.chars().next().filter(|c| ['"', '\''].contains(c)).ok_or("has a value without quotes")?;
        let length = self.rest[1..].find(quote).ok_or("has a value without its last quote")?;
        let value = &self.rest[1..=length];
        self.skip(length + 2);
        Ok(value)
    }

    fn name(&mut self) -> Option<&'a str> {
        let begins = |c: char| c.is_alphabetic() || c == '_' || c == ':';
        let goes_on = |c: char| c.is_alphanumeric() || "_:.-".contains(c);
        self.rest.starts_with(begins).then(|| {
            let length = self.rest.find(|c| !goes_on(c)).unwrap_or(self.rest.len());
            let name = &self.rest[..length];
            self.skip(length);
            name
        })
    }

    fn blank(&mut self) {
        self.skip(self.rest.len() - self.rest.trim_start().len());
    }

    fn take(&mut self, what: &str) -> bool {
        let is_next = self.rest.starts_with(what);
        if is_next {
            self.skip(what.len());
        }
        is_next
    }

    fn skip(&mut self, length: usize) {
        let (passed, rest) = self.rest.split_at(length);
        let lines = passed.bytes().filter(|&b| b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
    }

    fn malformed(&self, why: impl Into<String>) -> Malformed {
        Malformed { line: self.line, why: why.into() }
    }
}

/// A value with what entities stand for, and spaces for breaks of lines; `&` that begins no known one stands for itself.
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find(['&', '\t', '\n', '\r']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (character, length) = match entity(rest) {
            Some(found) => found,
            None if rest.starts_with('&') => ('&', 1),
            None if rest.starts_with("\r\n") => (' ', 2),
            None => (' ', 1),
        };
        text.push(character);
        rest = &rest[length..];
    }
    text.push_str(rest);
    text
}

/// The character that an entity at the beginning of a text stands for, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    // The longest is `&#x10FFFF;`, but numbers may begin with zeros.
    let end = text.bytes().take(16).position(|b| b == b';')?;
    let character = match text.get(1..end).filter(|_| text.starts_with('&'))? {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        other => {
            let number = other.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(text: &str) -> Result<Vec<Tag>, Malformed> {
        let mut scanner = Scanner::new(text);
        std::iter::from_fn(|| scanner.next().transpose()).collect()
    }

    fn open(name: &str, attributes: &[(&str, &str)], is_empty: bool, line: u32) -> Tag {
        let attributes = attributes.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        Tag::Open { name: name.to_owned(), attributes, is_empty, line }
    }

    #[test]
    fn what_mujoco_takes_is_taken() {
        let text = "\u{feff}text<!-- late --><?xml version=\"1.0\"?>\n<!DOCTYPE a [>\n<!-- one -- two --->\n\
            <a:b xmlns:c=\"d\" e.f-1 = 'g < \"h\" & &amp;&#65;&#x42;&nbsp;\r\ni'j=\"\">\n]]>&<![CDATA[<k>]]>< k/></a:b\n>\0\0";
        let attributes = [("e.f-1", "g < \"h\" & &AB&nbsp; i"), ("j", "")];
        let close = Tag::Close { name: "a:b".to_owned(), line: 6 };
        let wanted = vec![open("a:b", &attributes, false, 4), open("k", &[], true, 6), close];
        assert_eq!(tags(text), Ok(wanted));
    }

    #[test]
    fn what_is_no_xml_is_refused_where_it_stands() {
        let cases = [
            ("\n<", 2, "without a name"),
            ("<1/>", 1, "without a name"),
            ("<a", 1, "`<a` without `>`"),
            ("<a / >", 1, "`<a` without `>`"),
            ("<a\nb>", 2, "`b` has no value"),
            ("<a b=1>", 1, "without quotes"),
            ("<a b=\"1>", 1, "last quote"),
            ("<a b=\"1\" b=\"1\">", 1, "a second attribute `b`"),
            ("</a b>", 1, "`</a` without `>`"),
            ("<!-- -- >", 1, "a comment without `-->`"),
            ("<?xml >", 1, "without `?>`"),
        ];
        for (text, line, why) in cases {
            let error = tags(text).expect_err(text);
            assert!(error.line == line && error.why.contains(why), "{text}: {error:?}");
        }
    }
}
