//! How large a kernel is once every function is copied to where it is called from.
//!
//! Drivers do that, since GPUs have no stack to speak of. A function with three calls of one with three calls is there nine times,
//! and the time that a driver takes grows faster than what it is given: NVIDIA's took more than 14 s for each pipeline of a
//! kernel of 49,000 expressions and statements.

use naga::{Block, Function, Module, Statement};

/// Expressions and statements of a kernel at most.
pub(crate) const MOST: usize = 30_000;

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
    function.expressions.len() + block(&function.body, sizes)
}

fn block(statements: &Block, sizes: &[usize]) -> usize {
    let inside = |statement: &Statement| match statement {
        Statement::Call { function, .. } => sizes[function.index()],
        Statement::Block(body) => block(body, sizes),
        Statement::If { accept, reject, .. } => block(accept, sizes) + block(reject, sizes),
        Statement::Switch { cases, .. } => cases.iter().map(|case| block(&case.body, sizes)).sum(),
        Statement::Loop { body, continuing, .. } => block(body, sizes) + block(continuing, sizes),
        _ => 0,
    };
    statements.iter().map(|statement| 1 + inside(statement)).sum()
}
