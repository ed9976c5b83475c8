//! What the two sides of a pair share: constants and structs of words stand in Rust, and WGSL gets them from there.
//!
//! | Rust | WGSL |
//! |---|---|
//! | `const MOST: usize = 64;` (or `u32`) | `const MOST: u32 = 64u;` |
//! | `const FELL: f64 = 0.5;` | `const FELL: real = real(0.5);` |
//! | `mod term { const SIZE: usize = BIAS + 3; }` | `const TERM_SIZE: u32 = TERM_BIAS + 3u;` |
//! | `#[repr(C)] struct DofRecord { first: u32, row: u32 }` | the struct; `DOF_RECORD_SIZE`, `DOF_RECORD_FIRST`, `DOF_RECORD_ROW`: its words and where they stand |
//! | `type Dims = TreeDims;`, `use TreeDims as Dims;` | `alias Dims = TreeDims;` |
//!
//! A kernel gets what it names and nothing else.
//!
//! A struct of words lies in memory alike on both sides: the host copies its bytes, and a crate that lays structs out
//! (encase) would have nothing to do, and writes no WGSL.

use syn::{BinOp, Expr, Fields, Item, Lit, Type, UseTree};

/// One definition for WGSL.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) wgsl: String,
}

/// What a Rust file has for WGSL.
pub(crate) fn shared(text: &str) -> Result<Vec<Shared>, String> {
    let file = syn::parse_file(text).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    constants(&file.items, "", &mut names);
    let mut out = Vec::new();
    definitions(&file.items, "", &names, &mut out);
    Ok(out)
}

/// WGSL names of all constants of a file.
fn constants(items: &[Item], prefix: &str, out: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Const(item) => out.push(format!("{prefix}{}", item.ident)),
            Item::Mod(module) => {
                let inside = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                constants(inside, &format!("{prefix}{}_", upper(&module.ident.to_string())), out);
            }
            _ => {}
        }
    }
}

fn definitions(items: &[Item], prefix: &str, names: &[String], out: &mut Vec<Shared>) {
    let mut add = |name: String, wgsl: String| out.push(Shared { name, wgsl });
    for item in items {
        match item {
            Item::Const(item) => {
                let found = Kind::of(&item.ty).and_then(|kind| {
                    let value = expression(&item.expr, &kind, prefix, names)?;
                    Some(format!("const {prefix}{}: {} = {value};", item.ident, kind.wgsl()))
                });
                if let Some(wgsl) = found {
                    add(format!("{prefix}{}", item.ident), wgsl);
                }
            }
            Item::Struct(item) if prefix.is_empty() && item.attrs.iter().any(|a| a.path().is_ident("repr")) => {
                for (name, wgsl) in structure(item).unwrap_or_default() {
                    add(name, wgsl);
                }
            }
            Item::Type(item) if prefix.is_empty() => {
                if let Some(name) = type_name(&item.ty) {
                    add(item.ident.to_string(), format!("alias {} = {name};", item.ident));
                }
            }
            Item::Use(item) if prefix.is_empty() => {
                let mut tree = &item.tree;
                while let UseTree::Path(path) = tree {
                    tree = &path.tree;
                }
                if let UseTree::Rename(rename) = tree {
                    let wgsl = format!("alias {} = {};", rename.rename, rename.ident);
                    add(rename.rename.to_string(), wgsl);
                }
            }
            _ => {}
        }
    }
    for item in items {
        if let Item::Mod(module) = item {
            let inside = module.content.as_ref().map_or(&[][..], |(_, items)| items);
            definitions(inside, &format!("{prefix}{}_", upper(&module.ident.to_string())), names, out);
        }
    }
}

/// A struct of words, the number of its words, and where each stands.
fn structure(item: &syn::ItemStruct) -> Option<Vec<(String, String)>> {
    let Fields::Named(fields) = &item.fields else { return None };
    let (name, prefix) = (item.ident.to_string(), upper(&item.ident.to_string()));
    let mut members = String::new();
    // What comes before a member, as a sum that WGSL evaluates.
    let mut words = String::from("0u");
    let mut out = Vec::new();
    for field in &fields.named {
        let ident = field.ident.as_ref()?.to_string();
        let (ty, size) = match &field.ty {
            Type::Array(array) => match &array.len {
                Expr::Lit(_) if type_name(&array.elem)? == "u32" => {
                    let n = expression(&array.len, &Kind::Word, "", &[])?;
                    (format!("array<u32, {n}>"), n)
                }
                _ => return None,
            },
            other => match type_name(other)?.as_str() {
                "u32" => ("u32".to_string(), "1u".to_string()),
                // A struct of the same kind: the build fails on a name that is none.
                inner if inner.ends_with("Dims") => (inner.to_string(), format!("{}_SIZE", upper(inner))),
                _ => return None,
            },
        };
        members += &format!(" {ident}: {ty},");
        let at = format!("{prefix}_{}", ident.to_uppercase());
        out.push((at.clone(), format!("const {at}: u32 = {words};")));
        words += &format!(" + {size}");
    }
    out.push((format!("{prefix}_SIZE"), format!("const {prefix}_SIZE: u32 = {words};")));
    out.push((name.clone(), format!("struct {name} {{{members} }}")));
    Some(out)
}

/// What a constant is.
enum Kind {
    Word,
    Real,
    Reals(String),
}

impl Kind {
    fn of(ty: &Type) -> Option<Self> {
        if let Type::Array(array) = ty {
            let n = expression(&array.len, &Self::Word, "", &[])?;
            return (type_name(&array.elem)? == "f64").then_some(Self::Reals(n));
        }
        match type_name(ty)?.as_str() {
            "u32" | "usize" => Some(Self::Word),
            "f64" => Some(Self::Real),
            _ => None,
        }
    }

    fn wgsl(&self) -> String {
        match self {
            Self::Word => "u32".into(),
            Self::Real => "real".into(),
            Self::Reals(n) => format!("array<real, {n}>"),
        }
    }
}

/// An expression of numbers and constants; none where it is more than that.
fn expression(expr: &Expr, kind: &Kind, prefix: &str, names: &[String]) -> Option<String> {
    let inner = |expr: &Expr| expression(expr, kind, prefix, names);
    match expr {
        Expr::Lit(lit) => match (&lit.lit, kind) {
            (Lit::Int(number), Kind::Word) => Some(format!("{}u", number.base10_digits())),
            (Lit::Float(number), Kind::Real | Kind::Reals(_)) => Some(format!("real({})", number.base10_digits())),
            _ => None,
        },
        Expr::Paren(paren) => Some(format!("({})", inner(&paren.expr)?)),
        Expr::Cast(cast) => inner(&cast.expr),
        Expr::Binary(binary) => {
            let operator = match binary.op {
                BinOp::Add(_) => "+",
                BinOp::Sub(_) => "-",
                BinOp::Mul(_) => "*",
                BinOp::Div(_) => "/",
                BinOp::BitOr(_) => "|",
                _ => return None,
            };
            Some(format!("{} {operator} {}", inner(&binary.left)?, inner(&binary.right)?))
        }
        Expr::Array(array) => {
            let parts = array.elems.iter().map(inner).collect::<Option<Vec<_>>>()?;
            Some(format!("{}({})", kind.wgsl(), parts.join(", ")))
        }
        Expr::Path(path) => {
            let segments: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let (last, modules) = segments.split_last()?;
            match modules.last().map(String::as_str) {
                Some("u32") => (last == "MAX").then(|| "0xffffffffu".into()),
                Some(module) if !matches!(module, "super" | "self" | "crate") => {
                    Some(format!("{}_{last}", upper(module)))
                }
                _ => Some(in_scope(last, prefix, names)),
            }
        }
        _ => None,
    }
}

/// The constant that a name stands for in a module: its own or, brought in by `use` or `super`, of one around it; of
/// another file where there is none.
fn in_scope(name: &str, prefix: &str, names: &[String]) -> String {
    let mut around = prefix.trim_end_matches('_');
    loop {
        let full = if around.is_empty() { name.to_string() } else { format!("{around}_{name}") };
        if around.is_empty() || names.contains(&full) {
            return full;
        }
        around = around.rsplit_once('_').map_or("", |(outer, _)| outer);
    }
}

fn type_name(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    last.arguments.is_none().then(|| last.ident.to_string())
}

/// `DofRecord` and `term` in the letters of a constant: `DOF_RECORD`, `TERM`.
fn upper(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(letter.to_uppercase());
    }
    out
}
