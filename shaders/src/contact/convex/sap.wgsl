// SAP's Newton steps on one island by one workgroup: the twin of sap.rs. The importing kernel imports
// contact/convex/evaluate and contact/convex/newton, and calls these from uniform control flow.

// SAP: whether the gradient is small enough.
fn convex_judge(p: Place, local: u32, sums: Sums) -> u32 {
    let scale = max(sums.momentum, sums.pushed);
    let roundoff = convex_roundoff(p, local, sums);
    if !(is_finite(sums.error) && is_finite(sums.momentum) && is_finite(sums.pushed)) {
        return STEP_BROKEN;
    }
    let bar = fma(setting(dims.relative), sqrt(scale), setting(dims.absolute));
    return select(STEP_RUNNING, STEP_SOLVED, sums.error <= bar * bar || sums.error <= roundoff);
}

// SAP: what a Newton step comes to, or before the first one what the solve begins with.
fn convex_compliant(own: IslandRecord, p: Place, local: u32, begins: bool, decrement: real, sums: Sums) -> u32 {
    let judged = convex_judge(p, local, sums);
    if judged == STEP_BROKEN || begins && judged == STEP_RUNNING {
        return judged;
    }
    convex_publish(own, local);
    // No descent is left where round-off is all there is.
    return select(judged, STEP_SOLVED, decrement <= real(0.0));
}
