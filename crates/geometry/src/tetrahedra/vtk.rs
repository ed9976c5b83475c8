//! Tetrahedra of VTK's legacy files (`.vtk`), text or binary, of version 1 to 5.

use std::str::FromStr;

use super::Tetrahedra;
use crate::{Order, Vec3};

/// VTK's numbers of tetrahedra of 4 and of 10 nodes. The latter have their middles on the edges 01, 12, 20, 03, 13, 23, as ours.
const LINEAR: i64 = 10;
const QUADRATIC: i64 = 24;
/// Those of points, lines, triangles, quadrilaterals and polygons, which bound the tetrahedra.
const LOWER: [i64; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23];

/// A line, from 1, or 0 in a binary file; and what is wrong there.
pub(super) type Fault = (u32, String);

/// Reads a file; nodes keep their order in it.
pub(super) fn read(bytes: &[u8]) -> Result<Tetrahedra, Fault> {
    let mut file = Cursor { bytes, at: 0, line: 1, binary: false };
    file.header()?;
    let (mut nodes, mut cells, mut kinds) = (None, None, None);
    while let Some(keyword) = file.word()? {
        match keyword.to_ascii_uppercase().as_str() {
            "POINTS" => nodes = Some(file.points()?),
            "CELLS" => cells = Some(file.cells()?),
            "CELL_TYPES" => kinds = Some(file.kinds()?),
            "METADATA" => file.metadata(),
            "FIELD" => file.field()?,
            // What comes from here on is data on nodes and cells.
            "POINT_DATA" | "CELL_DATA" => break,
            _ => return file.fault(format!("POINTS, CELLS or CELL_TYPES expected, found `{keyword}`")),
        }
    }
    let missing = |what: &str| (file.line(), format!("{what} is missing"));
    let nodes = nodes.ok_or_else(|| missing("POINTS"))?;
    let cells = cells.ok_or_else(|| missing("CELLS"))?;
    tetrahedra(nodes, &cells, &kinds.ok_or_else(|| missing("CELL_TYPES"))?)
}

/// What a file says of a cell or of a cell's type, and on which line.
struct Said<T> {
    what: T,
    line: u32,
}

fn tetrahedra(nodes: Vec<Vec3>, cells: &[Said<Vec<i64>>], kinds: &[Said<i64>]) -> Result<Tetrahedra, Fault> {
    if kinds.len() != cells.len() {
        let line = kinds.last().map_or(0, |last| last.line);
        return Err((line, format!("CELL_TYPES: {} types expected, one a cell, found {}", cells.len(), kinds.len())));
    }
    let (mut elements, mut order) = (Vec::new(), None);
    for (number, (cell, kind)) in cells.iter().zip(kinds).enumerate() {
        let own = match kind.what {
            LINEAR => Order::Linear,
            QUADRATIC => Order::Quadratic,
            lower if LOWER.contains(&lower) => continue,
            other => {
                let why = format!("cell {number} is of type {other}: only tetrahedra (10, 24) are read");
                return Err((kind.line, why));
            }
        };
        if *order.get_or_insert(own) != own {
            return Err((kind.line, format!("cell {number}: tetrahedra of 4 and of 10 nodes must not be mixed")));
        }
        if cell.what.len() != own.nodes() {
            let why = format!("cell {number} of type {}: {} nodes expected", kind.what, own.nodes());
            return Err((cell.line, format!("{why}, found {}", cell.what.len())));
        }
        for &node in &cell.what {
            match u32::try_from(node).ok().filter(|&known| (known as usize) < nodes.len()) {
                Some(known) => elements.push(known),
                None => {
                    return Err((cell.line, format!("cell {number} refers to node {node}, there are {}", nodes.len())));
                }
            }
        }
    }
    match order {
        Some(order) => Ok(Tetrahedra { nodes, elements, order }),
        None => Err((0, "the file has no tetrahedra".into())),
    }
}

/// Types of numbers in a file.
#[derive(Clone, Copy)]
enum Kind {
    /// Of 4 or 8 bytes.
    Float(usize),
    /// Bytes, and whether it has a sign.
    Integer(usize, bool),
}

impl Kind {
    fn bytes(self) -> usize {
        match self {
            Self::Float(bytes) | Self::Integer(bytes, _) => bytes,
        }
    }
}

/// The integers of the parts CELLS and CELL_TYPES, which name no type.
const INT: Kind = Kind::Integer(4, true);

/// Where a file is read.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    /// From 1.
    line: u32,
    /// Numbers are big-endian bytes behind the line that names them.
    binary: bool,
}

impl<'b> Cursor<'b> {
    /// The line to name in a fault: bytes are on none.
    fn line(&self) -> u32 {
        if self.binary { 0 } else { self.line }
    }

    fn fault<T>(&self, why: String) -> Result<T, Fault> {
        Err((self.line(), why))
    }

    /// The bytes to the end of the line, which lies behind afterwards.
    fn rest_of_line(&mut self) -> &'b [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n');
        self.at += length.map_or(rest.len(), |length| length + 1);
        self.line += u32::from(length.is_some());
        &rest[..length.unwrap_or(rest.len())]
    }

    /// The next word, on this line or a later one.
    fn word(&mut self) -> Result<Option<&'b str>, Fault> {
        let blanks = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace());
        let (count, lines) = blanks.fold((0, 0), |(count, lines), &byte| (count + 1, lines + u32::from(byte == b'\n')));
        self.at += count;
        self.line += lines;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += length;
        match std::str::from_utf8(&rest[..length]) {
            Ok("") => Ok(None),
            Ok(word) => Ok(Some(word)),
            Err(_) => self.fault("a word expected, found bytes that are no text".into()),
        }
    }

    /// The next word as a number, a name or a type.
    fn next<T: FromStr>(&mut self, what: &str) -> Result<T, Fault> {
        match self.word()? {
            None => self.fault(format!("{what} is missing")),
            Some(word) => word.parse().or_else(|_| self.fault(format!("{what} expected, found `{word}`"))),
        }
    }

    fn header(&mut self) -> Result<(), Fault> {
        let first = self.rest_of_line();
        if !first.starts_with(b"# vtk DataFile Version") {
            return Err((1, "`# vtk DataFile Version` expected: only VTK's legacy files are read".into()));
        }
        // A title of any words.
        self.rest_of_line();
        let coding: String = self.next("ASCII or BINARY")?;
        let binary = match coding.to_ascii_uppercase().as_str() {
            "ASCII" => false,
            "BINARY" => true,
            _ => return self.fault(format!("ASCII or BINARY expected, found `{coding}`")),
        };
        let dataset: String = self.next("DATASET")?;
        let grid: String = self.next("the kind of the dataset")?;
        if !dataset.eq_ignore_ascii_case("DATASET") || !grid.eq_ignore_ascii_case("UNSTRUCTURED_GRID") {
            return self.fault(format!("DATASET UNSTRUCTURED_GRID expected, found `{dataset} {grid}`"));
        }
        self.binary = binary;
        Ok(())
    }

    /// The type of the numbers that follow; in a binary file they begin behind the line.
    fn kind(&mut self) -> Result<Kind, Fault> {
        let name: String = self.next("a type of numbers")?;
        let kind = match name.to_ascii_lowercase().as_str() {
            "float" => Kind::Float(4),
            "double" => Kind::Float(8),
            "char" => Kind::Integer(1, true),
            "unsigned_char" => Kind::Integer(1, false),
            "short" => Kind::Integer(2, true),
            "unsigned_short" => Kind::Integer(2, false),
            "int" | "vtkidtype" => INT,
            "unsigned_int" => Kind::Integer(4, false),
            "long" | "vtktypeint64" => Kind::Integer(8, true),
            _ => return self.fault(format!("a type of numbers (float, double, int, ...) expected, found `{name}`")),
        };
        self.start_of_data();
        Ok(kind)
    }

    fn start_of_data(&mut self) {
        if self.binary {
            self.rest_of_line();
        }
    }

    /// The bytes of the next number of a binary file, the last the lowest.
    fn raw(&mut self, length: usize, what: &str) -> Result<&'b [u8], Fault> {
        match self.bytes.get(self.at..self.at + length) {
            Some(raw) => {
                self.at += length;
                Ok(raw)
            }
            None => self.fault(format!("{what} is missing")),
        }
    }

    fn integer(&mut self, kind: Kind, what: &str) -> Result<i64, Fault> {
        match (self.binary, kind) {
            (false, _) => self.next(what),
            (true, Kind::Integer(bytes, signed)) => {
                let raw = self.raw(bytes, what)?;
                let first = if signed && raw[0] & 0x80 != 0 { -1 } else { 0 };
                Ok(raw.iter().fold(first, |sum: i64, &byte| sum << 8 | i64::from(byte)))
            }
            (true, Kind::Float(_)) => self.fault(format!("{what}: a type of integers expected")),
        }
    }

    fn real(&mut self, kind: Kind, what: &str) -> Result<f64, Fault> {
        match (self.binary, kind) {
            (false, _) => self.next(what),
            (true, Kind::Integer(..)) => self.integer(kind, what).map(|x| x as f64),
            (true, Kind::Float(bytes)) => {
                let raw = self.raw(bytes, what)?;
                let bits = raw.iter().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
                Ok(if bytes == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) })
            }
        }
    }

    fn points(&mut self) -> Result<Vec<Vec3>, Fault> {
        let count: u64 = self.next("the number of points")?;
        let kind = self.kind()?;
        let mut nodes = Vec::new();
        for _ in 0..count {
            let mut at = [0.0; 3];
            for (x, axis) in at.iter_mut().zip("xyz".chars()) {
                *x = self.real(kind, &format!("{axis} of point {}", nodes.len()))?;
            }
            nodes.push(Vec3::from(at));
        }
        Ok(nodes)
    }

    fn cells(&mut self) -> Result<Vec<Said<Vec<i64>>>, Fault> {
        let count: u64 = self.next("the number of cells")?;
        let size: u64 = self.next("the size of CELLS")?;
        self.start_of_data();
        let offsets = self.bytes[self.at..].trim_ascii_start().starts_with(b"OFFSETS");
        if offsets { self.cells_by_offsets(count, size) } else { self.cells_by_counts(count, size) }
    }

    /// Each cell is a number of nodes and these, as files before version 5 have them.
    fn cells_by_counts(&mut self, count: u64, size: u64) -> Result<Vec<Said<Vec<i64>>>, Fault> {
        let (mut cells, mut left) = (Vec::new(), size);
        for number in 0..count {
            let n = self.integer(INT, &format!("the number of nodes of cell {number}"))?;
            // A cell's own count and its nodes are of what is left.
            match u64::try_from(n).ok().and_then(|n| left.checked_sub(n.saturating_add(1))) {
                Some(rest) => left = rest,
                None => {
                    return self.fault(format!("cell {number} has {n} nodes: CELLS is to have {size} numbers in all"));
                }
            }
            let line = self.line();
            let mut what = Vec::new();
            for _ in 0..n {
                what.push(self.integer(INT, &format!("a node of cell {number}"))?);
            }
            cells.push(Said { what, line });
        }
        if left > 0 { self.fault(format!("CELLS is to have {size} numbers, found {}", size - left)) } else { Ok(cells) }
    }

    /// Where each cell begins among all nodes, then these, as files from version 5 on have them.
    fn cells_by_offsets(&mut self, offsets: u64, size: u64) -> Result<Vec<Said<Vec<i64>>>, Fault> {
        self.keyword("OFFSETS")?;
        let kind = self.kind()?;
        let mut starts = Vec::new();
        for number in 0..offsets {
            let start = self.integer(kind, &format!("offset {number}"))?;
            let least = starts.last().copied().unwrap_or(0);
            if start < least || start as u64 > size {
                return self.fault(format!("offset {number} must be from {least} to {size}, found {start}"));
            }
            starts.push(start);
        }
        self.keyword("CONNECTIVITY")?;
        let kind = self.kind()?;
        let mut nodes = Vec::new();
        for number in 0..size {
            let what = self.integer(kind, &format!("number {number} of CONNECTIVITY"))?;
            nodes.push(Said { what, line: self.line() });
        }
        let cell = |ends: &[i64]| {
            let own = &nodes[ends[0] as usize..ends[1] as usize];
            Said { what: own.iter().map(|node| node.what).collect(), line: own.first().map_or(0, |node| node.line) }
        };
        Ok(starts.windows(2).map(cell).collect())
    }

    fn keyword(&mut self, wanted: &str) -> Result<(), Fault> {
        let found: String = self.next(wanted)?;
        if found == wanted { Ok(()) } else { self.fault(format!("{wanted} expected, found `{found}`")) }
    }

    fn kinds(&mut self) -> Result<Vec<Said<i64>>, Fault> {
        let count: u64 = self.next("the number of types of cells")?;
        self.start_of_data();
        let mut kinds = Vec::new();
        for number in 0..count {
            let what = self.integer(INT, &format!("the type of cell {number}"))?;
            kinds.push(Said { what, line: self.line() });
        }
        Ok(kinds)
    }

    /// Words about an array, up to an empty line.
    fn metadata(&mut self) {
        self.rest_of_line();
        while self.at < self.bytes.len() && !self.rest_of_line().trim_ascii().is_empty() {}
    }

    /// Arrays of data of the whole grid, which say nothing of its shape.
    fn field(&mut self) -> Result<(), Fault> {
        self.next::<String>("the name of a field")?;
        for _ in 0..self.next::<u64>("the number of arrays of a field")? {
            let mut name: String = self.next("the name of an array")?;
            // About the array before it.
            while name == "METADATA" {
                self.metadata();
                name = self.next("the name of an array")?;
            }
            let [each, count] =
                [self.next::<u64>("components of an array")?, self.next::<u64>("the size of an array")?];
            let kind = self.kind()?;
            let what = format!("a number of array `{name}`");
            for _ in 0..each.saturating_mul(count) {
                if self.binary {
                    self.raw(kind.bytes(), &what)?;
                } else {
                    self.next::<f64>(&what)?;
                }
            }
        }
        Ok(())
    }
}
