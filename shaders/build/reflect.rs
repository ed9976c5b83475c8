//! What a validated kernel says of itself: bindings, workgroup, dims; and the rules that naga does not check.

use naga::back::pipeline_constants::process_overrides;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, ArraySize, Expression, Function, MathFunction, Module, Override, ScalarKind, StorageAccess,
    TypeInner, VectorSize,
};

use crate::expand::Expanded;
use crate::inlined;
use crate::prelude::{Precision, prelude};

/// Words of a dims struct at most: what a dispatch carries inline.
const DIMS_WORDS: u32 = 32;
/// Storage buffers a kernel may bind: the portable limit.
const STORAGE_BUFFERS: usize = 8;
/// Workgroup memory every adapter has, in bytes.
const WORKGROUP_BYTES: u32 = 16384;

#[derive(PartialEq)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) real: bool,
    pub(crate) write: bool,
}

pub(crate) struct Reflection {
    pub(crate) bindings: Vec<Binding>,
    /// Invocations of a workgroup.
    pub(crate) workgroup: u32,
    /// Words of dims that are overridable constants as well, with their byte offsets.
    pub(crate) constants: Vec<(String, u32)>,
    pub(crate) dims_bytes: u32,
    pub(crate) workgroup_bytes: u32,
}

/// Parses, validates and checks one kernel in one precision and tile width.
pub(crate) fn reflect(kernel: &Expanded, precision: Precision, tile: u32) -> Result<Reflection, String> {
    let head = prelude(precision, tile);
    let head_lines = head.lines().count();
    let source = head + &kernel.text;
    let place = |line: Option<u32>| {
        let line = line.map_or(0, |line| line as usize);
        let at = line.checked_sub(head_lines + 1).and_then(|line| kernel.lines.get(line));
        let at = at.map_or("src/prelude.rs", String::as_str);
        format!("{at} ({}, TILE {tile})", precision.name())
    };
    let module = naga::front::wgsl::parse_str(&source).map_err(|error| {
        let at = place(error.location(&source).map(|at| at.line_number));
        format!("{at}: {}\n{}", error.message(), error.emit_to_string(&source))
    })?;
    let capabilities = match precision {
        Precision::F32 => Capabilities::empty(),
        Precision::F64 => Capabilities::FLOAT64 | Capabilities::SHADER_INT64,
    };
    let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module).map_err(|error| {
        let at = place(error.location(&source).map(|at| at.line_number));
        format!("{at}: {}\n{}", error.as_inner(), error.emit_to_string(&source))
    })?;
    refuse_inexact_functions(&module).map_err(|(function, span)| {
        let at = place(Some(span.location(&source).line_number));
        format!("{at}: {function:?} is inexact, and worse in f64: use the functions of math.wgsl")
    })?;
    interface(&module, &info)
}

/// What drivers take too long over.
fn refuse_large(module: &Module, entry: &Function) -> Result<(), String> {
    let size = inlined::size(module, entry);
    if size <= inlined::MOST {
        return Ok(());
    }
    Err(format!(
        "{size} expressions and statements with every function copied to where it is called from, {} at most: call what is large \
         at one place",
        inlined::MOST
    ))
}

/// Workgroup memory at most: overridable constants that it depends on begin with their largest value.
fn most_workgroup_bytes(module: &Module, info: &ModuleInfo) -> Result<u32, String> {
    let is_given = |constant: &&Override| constant.init.is_none();
    let given = module.overrides.iter().map(|(_, constant)| constant).filter(is_given);
    let given = given.filter_map(|constant| Some((constant.name.clone()?, 0.0))).collect();
    let (module, _) = process_overrides(module, info, None, &given).map_err(|error| error.to_string())?;
    let own = module.global_variables.iter().filter(|(_, global)| global.space == AddressSpace::WorkGroup);
    let bytes = own.map(|(_, global)| module.types[global.ty].inner.size(module.to_ctx())).sum();
    if bytes > WORKGROUP_BYTES {
        return Err(format!("{bytes} bytes of workgroup memory: {WORKGROUP_BYTES} are portable"));
    }
    Ok(bytes)
}

/// The built-in functions that adapters compute to 3 or 6 digits, or not at all in f64.
fn refuse_inexact_functions(module: &Module) -> Result<(), (MathFunction, naga::Span)> {
    use MathFunction as M;
    let bodies = module.functions.iter().map(|(_, function)| function);
    for function in bodies.chain(module.entry_points.iter().map(|entry| &entry.function)) {
        for (handle, expression) in function.expressions.iter() {
            let Expression::Math { fun, .. } = expression else { continue };
            let inexact = matches!(
                fun,
                M::Cos
                    | M::Cosh
                    | M::Sin
                    | M::Sinh
                    | M::Tan
                    | M::Tanh
                    | M::Acos
                    | M::Asin
                    | M::Atan
                    | M::Atan2
                    | M::Asinh
                    | M::Acosh
                    | M::Atanh
                    | M::Exp
                    | M::Exp2
                    | M::Log
                    | M::Log2
                    | M::Pow
                    | M::InverseSqrt
                    | M::Normalize
            );
            if inexact {
                return Err((*fun, function.expressions.get_span(handle)));
            }
        }
    }
    Ok(())
}

/// Bindings in order, the dims struct, the workgroup.
fn interface(module: &Module, info: &ModuleInfo) -> Result<Reflection, String> {
    let [entry] = module.entry_points.as_slice() else { return Err("wants exactly one entry point".into()) };
    if entry.name != "main" || entry.workgroup_size[1..] != [1, 1] {
        return Err("the entry point is `main`, its workgroup one-dimensional".into());
    }
    refuse_large(module, &entry.function)?;
    let mut storage = Vec::new();
    let (mut dims, mut dims_bytes) = (Vec::new(), 0);
    for (_, global) in module.global_variables.iter() {
        let name = global.name.clone().unwrap_or_default();
        let inner = &module.types[global.ty].inner;
        match global.space {
            AddressSpace::Uniform => {
                if global.binding.is_none_or(|at| (at.group, at.binding) != (0, 0)) {
                    return Err(format!("`{name}`: the one uniform is dims, at group 0, binding 0"));
                }
                dims_bytes = inner.size(module.to_ctx());
                leaves(module, inner, String::new(), 0, &mut dims)?;
                // In Rust there is nothing between words; WGSL begins structs in a uniform at multiples of 16 bytes.
                let gap = dims.iter().zip(0..).find(|((_, at), word)| *at != 4 * word);
                if let Some(((leaf, _), _)) = gap {
                    return Err(format!("dims.{leaf}: pad what stands before it to a multiple of four words"));
                }
            }
            AddressSpace::Storage { access } => {
                let Some(at) = global.binding else { return Err(format!("`{name}` has no binding")) };
                let TypeInner::Array { base, size: ArraySize::Dynamic, .. } = inner else {
                    return Err(format!("`{name}`: storage is array<real> or array<u32>, without a length"));
                };
                // Groups of four numbers are the same bytes as the numbers.
                let (TypeInner::Scalar(scalar)
                | TypeInner::Atomic(scalar)
                | TypeInner::Vector { scalar, size: VectorSize::Quad }) = module.types[*base].inner
                else {
                    return Err(format!("`{name}`: storage is array<real>, array<vec4<real>> or array<u32>"));
                };
                let real = scalar.kind == ScalarKind::Float;
                if at.group != 0 || !(real || scalar.kind == ScalarKind::Uint) {
                    return Err(format!("`{name}`: storage is array<real> or array<u32>, in group 0"));
                }
                let write = access.contains(StorageAccess::STORE);
                storage.push((at.binding, Binding { name, real, write }));
            }
            _ => {}
        }
    }
    storage.sort_by_key(|(at, _)| *at);
    if storage.iter().enumerate().any(|(i, (at, _))| *at as usize != i + 1) {
        return Err("storage buffers are bound at 1, 2, ... without a gap".into());
    }
    if storage.len() > STORAGE_BUFFERS {
        return Err(format!("{} storage buffers: {STORAGE_BUFFERS} are portable", storage.len()));
    }
    if dims.is_empty() || dims_bytes > 4 * DIMS_WORDS {
        return Err(format!("dims has {dims_bytes} bytes: it needs 4 to {}", 4 * DIMS_WORDS));
    }
    let workgroup_bytes = most_workgroup_bytes(module, info)?;
    let mut constants = Vec::new();
    for (_, constant) in module.overrides.iter() {
        let name = constant.name.clone().unwrap_or_default();
        match dims.iter().find(|(leaf, _)| *leaf == name) {
            Some(leaf) => constants.push(leaf.clone()),
            None if constant.init.is_some() => {}
            None => return Err(format!("`{name}`: an overridable constant is one of dims, or computed from these")),
        }
    }
    let bindings = storage.into_iter().map(|(_, binding)| binding).collect();
    Ok(Reflection { bindings, workgroup: entry.workgroup_size[0], constants, dims_bytes, workgroup_bytes })
}

/// The u32 members of a struct and of the structs in it.
fn leaves(
    module: &Module,
    inner: &TypeInner,
    prefix: String,
    base: u32,
    out: &mut Vec<(String, u32)>,
) -> Result<(), String> {
    match inner {
        TypeInner::Scalar(scalar) if scalar.kind == ScalarKind::Uint && scalar.width == 4 => out.push((prefix, base)),
        TypeInner::Struct { members, .. } => {
            for member in members {
                let name = member.name.clone().unwrap_or_default();
                let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
                leaves(module, &module.types[member.ty].inner, name, base + member.offset, out)?;
            }
        }
        _ => return Err(format!("dims.{prefix}: only u32, and structs of u32")),
    }
    Ok(())
}
