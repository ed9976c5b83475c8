//! How large a kernel is once every function is copied to where it is called from.
//!
//! Drivers do that, since GPUs have no stack to speak of. A function with three calls of one with three calls is there nine times,
//! and the time that a driver takes grows faster than what it is given: NVIDIA's took more than 14 s for each pipeline of a
//! kernel of 49,000 expressions and statements.

use naga::{Block, Function, Handle, Module, Statement};

/// Expressions and statements of a kernel at most.
pub(crate) const MOST: usize = 36_000;

/// Expressions and statements of an entry point with everything that it calls, once a call.
pub(crate) fn size(module: &Module, entry: &Function) -> usize {
    let mut sizes = Vec::with_capacity(module.functions.len());
    // Functions stand behind those that they call.
    for (_, function) in module.functions.iter() {
        sizes.push(with_calls(function, &sizes));
    }
    with_calls(entry, &sizes)
}

/// `sizes`: of the functions that it may call.
fn with_calls(function: &Function, sizes: &[usize]) -> usize {
    let mut size = function.expressions.len();
    block(&function.body, &mut |called: Option<Handle<Function>>| {
        size += 1 + called.map_or(0, |called| sizes[called.index()]);
    });
    size
}

/// Goes through all statements; tells of each what it calls.
fn block(statements: &Block, found: &mut impl FnMut(Option<Handle<Function>>)) {
    for statement in statements {
        match statement {
            Statement::Call { function, .. } => found(Some(*function)),
            _ => found(None),
        }
        match statement {
            Statement::Block(inside) => block(inside, found),
            Statement::If { accept, reject, .. } => {
                [accept, reject].into_iter().for_each(|inside| block(inside, found))
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| block(&case.body, found)),
            Statement::Loop { body, continuing, .. } => {
                [body, continuing].into_iter().for_each(|inside| block(inside, found))
            }
            _ => {}
        }
    }
}
