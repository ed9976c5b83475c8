//! The two sides of a pair, as text: what both know stands in Rust alone.

#[path = "../build/share.rs"]
mod share;
mod sources;

use std::collections::BTreeSet;

use share::shared;
use sources::files;

/// Names of constants and structs that a WGSL file defines by hand.
fn by_hand(wgsl: &str) -> BTreeSet<String> {
    let code = wgsl.lines().map(|line| line.split("//").next().unwrap_or_default());
    let defined = code.filter_map(|line| line.trim().strip_prefix("const ").or(line.trim().strip_prefix("struct ")));
    let name = |rest: &str| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_string);
    defined.filter_map(name).collect()
}

/// What a WGSL file defines although Rust has it.
fn copies(wgsl: &str, in_rust: &BTreeSet<String>) -> Vec<String> {
    by_hand(wgsl).intersection(in_rust).cloned().collect()
}

fn names_in_rust() -> BTreeSet<String> {
    let rust = files().into_iter().filter(|(name, _)| name.ends_with(".rs"));
    rust.flat_map(|(_, text)| shared(&text).unwrap()).map(|item| item.name).collect()
}

#[test]
fn what_rust_defines_is_not_defined_again_in_wgsl() {
    let in_rust = names_in_rust();
    assert!(in_rust.len() > 300, "{} names are shared", in_rust.len());
    for (name, text) in files().into_iter().filter(|(name, _)| name.ends_with(".wgsl")) {
        let copies = copies(&text, &in_rust);
        assert!(copies.is_empty(), "src/{name} defines {copies:?}: take them from Rust by `#import stage/module.rs`");
    }
}

#[test]
fn copies_are_noticed() {
    let in_rust = names_in_rust();
    assert_eq!(copies("const CON_BIAS: u32 = 0u;", &in_rust), ["CON_BIAS"]);
    assert_eq!(copies("const CON_BIAS = 0u; // The same.", &in_rust), ["CON_BIAS"]);
    assert_eq!(copies("struct TreeDims {\n    lanes: u32,\n}", &in_rust), ["TreeDims"]);
    assert!(copies("const NOBODY_ELSES: u32 = 1u; // const CON_BIAS", &in_rust).is_empty());
}

fn wgsl(rust: &str) -> Vec<String> {
    shared(rust).unwrap().into_iter().map(|item| item.wgsl).collect()
}

#[test]
fn constants_become_wgsl() {
    assert_eq!(wgsl("pub const MOST: usize = 6_4;"), ["const MOST: u32 = 64u;"]);
    assert_eq!(wgsl("const NONE: u32 = u32::MAX;"), ["const NONE: u32 = 0xffffffffu;"]);
    assert_eq!(wgsl("const FELL: f64 = 1.5e-3;"), ["const FELL: real = real(1.5e-3);"]);
    assert_eq!(
        wgsl("const N: usize = 2; const X: [f64; N] = [1.0, 0.5];")[1],
        "const X: array<real, N> = array<real, N>(real(1.0), real(0.5));"
    );
    // What is no number, or computed by more than operators, stays in Rust.
    assert!(wgsl("const NAME: &str = \"a\"; const N: usize = of(3); fn f() {}").is_empty());
}

#[test]
fn names_in_expressions_are_those_in_scope() {
    let text = "const W: usize = 5; mod a { use super::W; pub const B: usize = 1; pub const C: usize = B + W; \
                pub const D: u32 = B as u32 | super::e::F; } mod e { pub const F: u32 = 8; pub const B: usize = super::W; }";
    let found = wgsl(text);
    for wanted in ["const A_C: u32 = A_B + W;", "const A_D: u32 = A_B | E_F;", "const E_B: u32 = W;"] {
        assert!(found.iter().any(|line| line == wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn structs_of_words_become_wgsl() {
    let found = wgsl("#[repr(C)] pub struct RowItem { pub tree: TreeDims, pub dofs: [u32; 3], pub at: u32 }");
    assert_eq!(
        found,
        [
            "const ROW_ITEM_TREE: u32 = 0u;",
            "const ROW_ITEM_DOFS: u32 = 0u + TREE_DIMS_SIZE;",
            "const ROW_ITEM_AT: u32 = 0u + TREE_DIMS_SIZE + 3u;",
            "const ROW_ITEM_SIZE: u32 = 0u + TREE_DIMS_SIZE + 3u + 1u;",
            "struct RowItem { tree: TreeDims, dofs: array<u32, 3u>, at: u32, }",
        ]
    );
    assert!(wgsl("#[repr(C)] struct Reals { x: f32 }").is_empty());
    assert!(wgsl("struct NotInMemory { x: u32 }").is_empty());
    assert_eq!(wgsl("pub use crate::tree::TreeOnly as Dims;"), ["alias Dims = TreeOnly;"]);
    assert_eq!(wgsl("pub type Dims = SetDims;"), ["alias Dims = SetDims;"]);
}

#[test]
fn a_rust_file_that_does_not_parse_is_refused() {
    assert!(shared("const A: usize = ;").is_err());
}
