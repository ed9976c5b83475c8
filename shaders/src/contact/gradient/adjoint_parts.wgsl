// Where the parts of a lane of `adjoint` begin, as layout.rs has it.

// Parts of a lane of `adjoint`; before them the gradient by v+.
struct Adjoint {
    impulse: u32,
    inputs: u32,
    verdict: u32,
    reals: u32,
}

fn adjoint_new(n_v: u32, n_input: u32) -> Adjoint {
    let width = 2u * n_v + n_input;
    let inputs = 2u * n_v;
    return Adjoint(n_v, inputs, inputs + width, inputs + width + VERDICT_SIZE);
}
