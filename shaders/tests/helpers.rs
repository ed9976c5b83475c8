//! The two sides of a pair have the same helpers in the same order.
//!
//! A helper is a function with a branch or a loop, or in Rust a closure that has a name. What has neither says where a
//! number lies or names a formula, and either side may write it out. Of helpers:
//!
//! - WGSL has one name space: there a helper may carry the name of its file before its own, `law_impulse`, and a digit where
//!   WGSL has a function of its own, `dot3`.
//! - `main` in WGSL is `mirror` in Rust, and the function that is named as its file.
//! - A helper of one side stands in the other's file of the same name, or in a file that imports it or that it imports.
//! - What a single function calls is a part of that function, which the other side may write out.
//! - WGSL alone has barriers: functions by which the lanes of a workgroup add up or agree. Rust alone has masks and tiles of
//!   lanes, and functions that no kernel calls: they are for hosts.
//!
//! [`APART`] names what these rules do not cover.

mod sources;

use std::collections::{BTreeMap, BTreeSet};

use sources::files;

/// File, its helpers without a counterpart, and why; no helper: those that are on both sides stand in another order, too.
const APART: &[(&str, &[&str], &str)] = &[
    ("contact/dense", &["respond"], DENSE),
    ("contact/dense_group", &["entries", "merit_at", "set_entries", "set_entry"], DENSE),
    ("contact/dense_group_step", &["load_four", "load_rhs", "slot_law", "store_four"], DENSE),
    ("contact/island", &["add_rows_by_sums"], "several sums a row fill a processor's vector registers"),
    (
        "contact/island_newton",
        &["is_thin"],
        "mirrors in double precision have a form of the dense problem of their own",
    ),
    ("contact/tree_pgs", &["push", "push3", ""], DENSE),
    ("contact/convex/evaluate", &["convex_pushed"], "lanes gather by dof what the mirror scatters by constraint"),
    ("contact/gradient/eliminate", &["pivot_larger"], "lanes search for a pivot together"),
    ("contact/gradient/substitute", &["pushed"], "an invocation has one number of a column, the mirror the column"),
    (
        "contact/gradient/system",
        &["add_of", "combined", "of_slot", "response"],
        "lanes write numbers, the mirror adds rows",
    ),
    ("dynamics/derivatives/transport", &["relative"], "WGSL has vectors: two subtractions there"),
    ("dynamics/effort", &["pull_joint", "length"], "WGSL of the kernels that use them binds other buffers"),
    ("dynamics/small", &["read_small", "solve_small"], "a device keeps a small factor in registers"),
    ("dynamics/tree", &["jacobian"], "kernels write its rows where they need them"),
    ("soft/slide", &["clear"], "a mirror's tile of numbers is a slice, which is filled"),
    ("math", &["polynomial"], "WGSL cannot be generic over a length"),
];
const DENSE: &str = "the dense problem: mirrors by packs of rows, lanes by groups of four columns, workgroups by rows";

const BRANCHES: [&str; 6] = ["for", "while", "loop", "if", "match", "switch"];
const ITERATORS: [&str; 9] = ["for_each", "fold", "map", "any", "all", "zip", "iter", "chunks_exact", "chunks"];

struct Function {
    name: String,
    signature: Vec<String>,
    body: Vec<String>,
}

impl Function {
    fn is_helper(&self) -> bool {
        let iterates = |three: &[String]| three[0] == "." && ITERATORS.contains(&three[1].as_str()) && three[2] == "(";
        self.body.iter().any(|word| BRANCHES.contains(&word.as_str())) || self.body.windows(3).any(iterates)
    }

    /// Whether lanes of a workgroup meet in it.
    fn has_barrier(&self) -> bool {
        self.body.iter().any(|word| word.ends_with("Barrier") || word == "workgroupUniformLoad")
    }

    fn calls(&self, name: &str) -> bool {
        let called = |rest: &[String]| rest[0] == name && (rest[1] == "(" || rest[1..4] == [":", ":", "<"]);
        self.name != name && self.body.windows(4).any(called)
    }
}

/// Identifiers and signs of a file without its comments and tests.
fn words(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = Vec::new();
    for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        let mut word = String::new();
        for letter in line.chars() {
            if letter.is_alphanumeric() || letter == '_' {
                word.push(letter);
                continue;
            }
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
            if !letter.is_whitespace() {
                out.push(letter.to_string());
            }
        }
        if !word.is_empty() {
            out.push(word);
        }
    }
    out
}

/// One past the end of what begins at `from`: at the brace that closes the first one, or at a semicolon outside of any.
fn end(words: &[String], from: usize, until_semicolon: bool) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate().skip(from) {
        match word.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && word == "}" && !until_semicolon {
                    return at + 1;
                }
            }
            ";" if depth == 0 && until_semicolon => return at,
            _ => {}
        }
    }
    words.len()
}

/// The functions of a file and the closures with a name, in order.
fn functions(text: &str) -> Vec<Function> {
    let words = words(text);
    let mut out = Vec::new();
    for at in 0..words.len() {
        let next = |k: usize| words.get(at + k).map_or("", String::as_str);
        let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if words[at] == "fn" && is_name(next(1)) {
            let Some(open) = (at..words.len()).find(|&k| words[k] == "{") else { continue };
            let body = words[open..end(&words, open, false)].to_vec();
            out.push(Function { name: next(1).into(), signature: words[at..open].to_vec(), body });
        } else if words[at] == "let" {
            let name = if next(1) == "mut" { 2 } else { 1 };
            if next(name + 1) == "=" && next(name + 2) == "|" {
                let body = words[at..end(&words, at, true)].to_vec();
                out.push(Function { name: next(name).into(), signature: Vec::new(), body });
            }
        }
    }
    out
}

/// The functions of all files.
struct Pairs {
    all: BTreeMap<String, Vec<Function>>,
    /// Of each WGSL file what it imports, itself included, without extension.
    imports: BTreeMap<String, BTreeSet<String>>,
    kernels: BTreeSet<String>,
}

impl Pairs {
    fn new(files: &BTreeMap<String, String>) -> Self {
        let wgsl = || files.keys().filter_map(|name| name.strip_suffix(".wgsl"));
        let imports = |name: &str| {
            let mut seen = BTreeSet::new();
            let mut left = vec![name.to_string()];
            while let Some(name) = left.pop() {
                let text = files.get(&format!("{name}.wgsl")).map_or("", String::as_str);
                let modules = text.lines().filter_map(|line| line.trim().strip_prefix("#import "));
                if seen.insert(name) {
                    left.extend(modules.map(|module| module.trim().trim_end_matches(".rs").to_string()));
                }
            }
            seen
        };
        Self {
            all: files.iter().map(|(name, text)| (name.clone(), functions(text))).collect(),
            imports: wgsl().map(|name| (name.to_string(), imports(name))).collect(),
            kernels: wgsl().map(|name| name.rsplit('/').next().unwrap_or(name).to_string()).collect(),
        }
    }

    /// Files that a file imports or that import it, and what those import.
    fn related(&self, name: &str) -> BTreeSet<&String> {
        self.imports.iter().filter(|(user, of)| *user == name || of.contains(name)).flat_map(|(_, of)| of).collect()
    }

    fn of<'a>(&'a self, related: &BTreeSet<&String>, extension: &str) -> Vec<&'a Function> {
        let files = related.iter().filter_map(|name| self.all.get(&format!("{name}.{extension}")));
        files.flatten().collect()
    }

    /// Whether a kernel gets to a function of Rust: it is one, or something calls it.
    fn is_called(&self, function: &Function) -> bool {
        let rust = self.all.iter().filter(|(name, _)| name.ends_with(".rs"));
        function.name == "mirror"
            || self.kernels.contains(&function.name)
            || rust.flat_map(|(_, all)| all).any(|other| other.calls(&function.name))
    }

    /// What is wrong with a pair: helpers without a counterpart, and an empty name where the order differs.
    fn faults(&self, name: &str) -> Vec<String> {
        let related = self.related(name);
        let stem = name.rsplit('/').next().unwrap_or(name);
        let (wgsl, rust) = (self.of(&related, "wgsl"), self.of(&related, "rs"));
        let none = Vec::new();
        let own_wgsl = self.all.get(&format!("{name}.wgsl")).unwrap_or(&none);
        let own_rust = self.all.get(&format!("{name}.rs")).unwrap_or(&none);
        let entry = |name: &str| ["main", "mirror", "new", stem].contains(&name);
        let mut faults = Vec::new();
        for f in own_wgsl.iter().filter(|f| !entry(&f.name) && f.is_helper() && !f.has_barrier()) {
            let several = wgsl.iter().filter(|other| other.calls(&f.name)).count() > 1;
            if several && !rust.iter().any(|other| same(&f.name, &other.name)) {
                faults.push(f.name.clone());
            }
        }
        let packs = |f: &Function| f.name.contains("tile") || f.signature.iter().any(|word| word == "Mask");
        for f in own_rust.iter().filter(|f| !entry(&f.name) && f.is_helper() && !packs(f)) {
            let callers = rust.iter().filter(|other| other.calls(&f.name) && self.is_called(other));
            if callers.count() > 1 && !wgsl.iter().any(|other| same(&other.name, &f.name)) {
                faults.push(f.name.clone());
            }
        }
        // The places in Rust of what both have.
        let mut places: Vec<usize> = Vec::new();
        for f in own_wgsl.iter().filter(|f| !entry(&f.name)) {
            let alike = own_rust
                .iter()
                .enumerate()
                .filter(|(at, other)| !entry(&other.name) && !places.contains(at) && same(&f.name, &other.name));
            places.extend(alike.min_by_key(|(_, other)| std::cmp::Reverse(other.name.len())).map(|(at, _)| at));
        }
        if !places.is_sorted() {
            faults.push(String::new());
        }
        faults
    }
}

/// Whether a name in WGSL is one in Rust.
fn same(wgsl: &str, rust: &str) -> bool {
    wgsl == rust || wgsl.ends_with(&format!("_{rust}")) || wgsl.trim_end_matches(|c: char| c.is_ascii_digit()) == rust
}

/// The faults of every file that has some.
fn faults(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let pairs = Pairs::new(files);
    let of = |name: &String| (name.clone(), pairs.faults(name).into_iter().collect::<BTreeSet<_>>());
    pairs.imports.keys().map(of).filter(|(_, faults)| !faults.is_empty()).collect()
}

#[test]
fn pairs_have_the_same_helpers_in_the_same_order() {
    let apart = APART.iter().map(|(name, helpers, _)| {
        ((*name).to_string(), helpers.iter().map(|helper| (*helper).to_string()).collect::<BTreeSet<_>>())
    });
    assert_eq!(faults(&files()), apart.collect::<BTreeMap<_, _>>(), "helpers of one side (left), and those of APART");
}

/// The files of `src` with a piece of text replaced wherever a file's name ends so.
fn changed(end: &str, from: &str, to: &str) -> BTreeMap<String, String> {
    let mut files = files();
    let mut count = 0;
    for (_, text) in files.iter_mut().filter(|(name, _)| name.ends_with(end)) {
        count += text.matches(from).count();
        *text = text.replace(from, to);
    }
    assert!(count > 0, "no {end} has `{from}`");
    files
}

#[test]
fn differences_of_a_pair_are_noticed() {
    let found = |files: &BTreeMap<String, String>, name: &str| faults(files).remove(name).unwrap_or_default();
    // A helper by another name on one side has no counterpart on the other.
    let renamed = changed(".wgsl", "law_impulse", "law_force");
    assert!(found(&renamed, "contact/convex/law").contains("law_force"));
    let renamed = changed("contact/gradient/mobility.rs", "fn moved", "fn pulled");
    assert!(found(&renamed, "contact/gradient/columns").contains("moved"));
    // One that is added.
    let added = "fn added(x: u32) -> u32 { if x == 1u { return 2u; } return x; }\n\
                 fn one() -> u32 { return added(1u); }\nfn two() -> u32 { return added(2u); }\n";
    let mut more = files();
    more.get_mut("contact/convex/law.wgsl").unwrap().push_str(added);
    assert!(found(&more, "contact/convex/law").contains("added"));
    // Two that change places.
    let moved = changed("contact/convex/law.rs", "fn row", "fn contact_");
    let moved: BTreeMap<_, _> = moved
        .into_iter()
        .map(|(name, text)| match name.as_str() {
            "contact/convex/law.rs" => {
                (name, text.replace("fn contact<", "fn row<").replace("fn contact_", "fn contact"))
            }
            _ => (name, text),
        })
        .collect();
    assert!(found(&moved, "contact/convex/law").contains(""));
}

#[test]
fn functions_are_found() {
    let rust = functions(
        "pub fn a<T>(x: T) -> T { let b = |y| if y { 1 } else { 2 }; x }\n// fn no() {}\nimpl X { fn c(&self) {} }",
    );
    let names: Vec<_> = rust.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(rust[0].is_helper() && rust[1].is_helper() && !rust[2].is_helper());
    let wgsl = functions(
        "fn a(x: u32) -> real { return b(x); }\nfn b(x: u32) -> real { workgroupBarrier(); return real(x); }",
    );
    assert!(wgsl[0].calls("b") && !wgsl[1].calls("a") && wgsl[1].has_barrier());
    assert!(same("law_impulse", "impulse") && same("dot3", "dot") && !same("impulse", "law_impulse"));
}
