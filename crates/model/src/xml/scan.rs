//! The tags of an XML text, one after the other. What MuJoCo's parser takes is taken, since models are written for it: two
//! dashes in a comment, `<` and `&` in values, prefixes that nobody declared, a document type, text where none belongs.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape_with};
use quick_xml::events::{BytesStart, Event};

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
    Close,
}

/// Why a text is no XML, and where.
#[derive(Debug, PartialEq)]
pub(super) struct Malformed {
    pub(super) line: u32,
    pub(super) why: String,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// Bytes up to which lines are counted, and their lines.
    counted: (usize, u32),
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        // Positions would not count it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader::from_str(text);
        reader.config_mut().allow_dangling_amp = true;
        Self { text, reader, counted: (0, 1) }
    }

    /// The line that is reached.
    pub(super) fn line(&self) -> u32 {
        self.counted.1
    }

    /// The line of a byte; bytes are asked for in ascending order.
    fn line_of(&mut self, at: u64) -> u32 {
        let at = usize::try_from(at).unwrap_or(usize::MAX).clamp(self.counted.0, self.text.len());
        let lines = self.text.as_bytes()[self.counted.0..at].iter().filter(|&&byte| byte == b'\n').count();
        self.counted = (at, self.counted.1.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)));
        self.counted.1
    }

    /// The next tag; `None` at the end of the text.
    pub(super) fn next(&mut self) -> Result<Option<Tag>, Malformed> {
        loop {
            let begin = self.reader.buffer_position();
            let event = self.reader.read_event();
            let line = self.line_of(begin);
            let (start, is_empty) = match event {
                Ok(Event::Start(start)) => (start, false),
                Ok(Event::Empty(start)) => (start, true),
                Ok(Event::End(_)) => return Ok(Some(Tag::Close)),
                Ok(Event::Eof) => return Ok(None),
                Ok(_) => continue,
                Err(error) => {
                    let line = self.line_of(self.reader.error_position());
                    return Err(Malformed { line, why: error.to_string() });
                }
            };
            return open(&start, is_empty, line).map(Some).map_err(|why| Malformed { line, why });
        }
    }
}

fn open(start: &BytesStart<'_>, is_empty: bool, line: u32) -> Result<Tag, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = text(start.name().as_ref());
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':') {
        return Err("`<` without a name".to_owned());
    }
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("<{name}>: {error}"))?;
        let key = text(attribute.key.as_ref());
        if key != "xmlns" && !key.starts_with("xmlns:") {
            attributes.push((key, unescaped(&text(&attribute.value))));
        }
    }
    Ok(Tag::Open { name, attributes, is_empty, line })
}

/// A value with what entities stand for, and spaces for breaks of lines; a value with `&` that begins none stands for itself.
fn unescaped(value: &str) -> String {
    let value = value.replace("\r\n", " ").replace(['\t', '\n', '\r'], " ");
    unescape_with(&value, resolve_predefined_entity).map_or_else(|_| value.clone(), |value| value.into_owned())
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
        let text = "\u{feff}text<!-- late --><?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<!-- one -- two --->\n\
            <a:b xmlns:c=\"d\" e.f-1 = 'g < \"h\" &amp;&#65;&#x42;\r\ni'j=\"\" k=\"& l\">\n]]>&<![CDATA[<k>]]><k/></a:b\n>\0\0";
        let attributes = [("e.f-1", "g < \"h\" &AB i"), ("j", ""), ("k", "& l")];
        let wanted = vec![open("a:b", &attributes, false, 4), open("k", &[], true, 6), Tag::Close];
        assert_eq!(tags(text), Ok(wanted));
    }

    #[test]
    fn what_is_no_xml_is_refused_where_it_stands() {
        let cases = [
            ("\n<", 2, "not closed"),
            ("\n<1/>", 2, "without a name"),
            ("<a", 1, "not closed"),
            ("<a / >", 1, "<a>: "),
            ("\n<a\nb>", 2, "<a>: "),
            ("<a b=1>", 1, "<a>: "),
            ("\n<a b=\"1>", 2, "not closed"),
            ("<a b=\"1\" b=\"1\">", 1, "duplicated attribute"),
            ("<a>\n\n</b>", 3, "expected `</a>`"),
            ("</a b>", 1, "does not match any"),
            ("<!-- -- >", 1, "comment not closed"),
            ("<?xml >", 1, "not closed"),
        ];
        for (text, line, why) in cases {
            let error = tags(text).expect_err(text);
            assert!(error.line == line && error.why.contains(why), "{text}: {error:?}");
        }
    }
}
