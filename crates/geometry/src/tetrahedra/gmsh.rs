//! Tetrahedra of Gmsh's `.msh` files, text of versions 2.2 and 4.1.

use std::collections::HashMap;
use std::str::{FromStr, SplitWhitespace};

use super::Tetrahedra;
use crate::{Order, Vec3};

/// Gmsh's numbers of tetrahedra of 4 and of 10 nodes.
const LINEAR: u32 = 4;
const QUADRATIC: u32 = 11;
/// Those of points, lines, triangles and quadrilaterals, which bound the tetrahedra.
const LOWER: [u32; 9] = [15, 1, 8, 2, 9, 3, 10, 16, 20];

/// Reads a file; nodes keep their order in it.
pub(super) fn read(bytes: &[u8]) -> Result<Tetrahedra, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not a text file: binary .msh is not read".to_owned())?;
    let mut header = Words(section(text, "MeshFormat")?.split_whitespace());
    let version = header.0.next().unwrap_or_default();
    if header.next::<u32>("file type")? != 0 {
        return Err("binary .msh is not read, only text".into());
    }
    let mut mesh = Reader { nodes: Vec::new(), numbers: HashMap::new(), elements: Vec::new(), order: None };
    let (nodes, elements) = (section(text, "Nodes")?, section(text, "Elements")?);
    match version {
        "2.2" => {
            mesh.nodes_2(Words(nodes.split_whitespace()))?;
            mesh.elements_2(elements)?;
        }
        "4.1" => {
            mesh.nodes_4(Words(nodes.split_whitespace()))?;
            mesh.elements_4(elements)?;
        }
        other => return Err(format!("version `{other}` of .msh is not read, only 2.2 and 4.1")),
    }
    let order = mesh.order.ok_or("the file has no tetrahedra")?;
    Ok(Tetrahedra { nodes: mesh.nodes, elements: mesh.elements, order })
}

/// The text between the lines `$NAME` and `$EndNAME`.
fn section<'t>(text: &'t str, name: &str) -> Result<&'t str, String> {
    let (start, end) = (format!("${name}"), format!("$End{name}"));
    let from = text.find(&start).ok_or(format!("{start} is missing"))? + start.len();
    let length = text[from..].find(&end).ok_or(format!("{end} is missing"))?;
    Ok(&text[from..from + length])
}

/// Numbers of a text.
struct Words<'t>(SplitWhitespace<'t>);

impl Words<'_> {
    fn next<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.0.next().ok_or_else(|| format!("{what} is missing"))?;
        word.parse().map_err(|_| format!("{what} expected, found `{word}`"))
    }

    fn point(&mut self) -> Result<Vec3, String> {
        let [x, y, z] = [self.next("x of a node")?, self.next("y of a node")?, self.next("z of a node")?];
        Ok(Vec3::new(x, y, z))
    }
}

struct Reader {
    nodes: Vec<Vec3>,
    /// The file's numbers of nodes, to ours.
    numbers: HashMap<u64, u32>,
    elements: Vec<u32>,
    /// Of the elements so far.
    order: Option<Order>,
}

impl Reader {
    fn node(&mut self, number: u64, at: Vec3) -> Result<(), String> {
        if self.numbers.insert(number, self.nodes.len() as u32).is_some() {
            return Err(format!("node {number} comes twice"));
        }
        self.nodes.push(at);
        Ok(())
    }

    fn nodes_2(&mut self, mut words: Words) -> Result<(), String> {
        for _ in 0..words.next::<u64>("the number of nodes")? {
            let number = words.next("the number of a node")?;
            self.node(number, words.point()?)?;
        }
        Ok(())
    }

    fn nodes_4(&mut self, mut words: Words) -> Result<(), String> {
        let blocks = words.next::<u64>("the number of blocks of nodes")?;
        for what in ["the number of nodes", "the least number of a node", "the largest number of a node"] {
            words.next::<u64>(what)?;
        }
        for _ in 0..blocks {
            let dimension = words.next::<u32>("the dimension of an entity")?;
            words.next::<i64>("the number of an entity")?;
            let parametric = words.next::<u32>("0 or 1")?;
            let count = words.next::<u64>("the number of nodes of a block")?;
            let mut numbers = Vec::new();
            for _ in 0..count {
                numbers.push(words.next::<u64>("the number of a node")?);
            }
            for number in numbers {
                let at = words.point()?;
                for _ in 0..dimension * u32::from(parametric != 0) {
                    words.next::<f64>("a parameter of a node")?;
                }
                self.node(number, at)?;
            }
        }
        Ok(())
    }

    fn elements_2(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let count: u64 = Words(lines.next().unwrap_or_default().split_whitespace()).next("the number of elements")?;
        for _ in 0..count {
            let mut words = Words(lines.next().ok_or("an element is missing")?.split_whitespace());
            let number = words.next::<u64>("the number of an element")?;
            let kind = words.next("the type of an element")?;
            for _ in 0..words.next::<u32>("the number of tags")? {
                words.next::<i64>("a tag")?;
            }
            self.element(number, kind, words)?;
        }
        Ok(())
    }

    fn elements_4(&mut self, text: &str) -> Result<(), String> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut line =
            |what: &str| lines.next().map(|l| Words(l.split_whitespace())).ok_or(format!("{what} is missing"));
        let blocks = line("the number of blocks of elements")?.next::<u64>("the number of blocks of elements")?;
        for _ in 0..blocks {
            let mut head = line("a block of elements")?;
            head.next::<u32>("the dimension of an entity")?;
            head.next::<i64>("the number of an entity")?;
            let kind = head.next("the type of elements")?;
            for _ in 0..head.next::<u64>("the number of elements of a block")? {
                let mut words = line("an element")?;
                let number = words.next("the number of an element")?;
                self.element(number, kind, words)?;
            }
        }
        Ok(())
    }

    fn element(&mut self, number: u64, kind: u32, mut words: Words) -> Result<(), String> {
        let order = match kind {
            LINEAR => Order::Linear,
            QUADRATIC => Order::Quadratic,
            lower if LOWER.contains(&lower) => return Ok(()),
            other => return Err(format!("element {number} is of type {other}: only tetrahedra (4, 11) are read")),
        };
        if *self.order.get_or_insert(order) != order {
            return Err("it holds tetrahedra of 4 and of 10 nodes: they must be of one kind".into());
        }
        for _ in 0..order.nodes() {
            let node = words.next::<u64>("a node of an element")?;
            let found = self.numbers.get(&node);
            self.elements
                .push(*found.ok_or_else(|| format!("element {number} refers to node {node}, which is not there"))?);
        }
        if order == Order::Quadratic {
            // Gmsh has the middle of the edge 23 before that of 13.
            let last = self.elements.len();
            self.elements.swap(last - 2, last - 1);
        }
        Ok(())
    }
}
