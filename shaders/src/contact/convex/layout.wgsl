// What every kernel of the convex solvers reads: the twin of layout.rs, whose records are in contact/convex/records.

// First real of a constraint in `convex`.
fn term_at(constraint: u32) -> u32 {
    return dims.constraint_real + TERM_SIZE * constraint;
}

// A number of the uniform.
fn setting(bits: u32) -> real {
    return real(bitcast<f32>(bits));
}
