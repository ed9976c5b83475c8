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

// SAP: what a Newton step comes to.
fn convex_compliant(own: IslandRecord, p: Place, local: u32, step: Newton) -> u32 {
    if step.direction != DIRECTION_FOUND {
        return select(STEP_BROKEN, STEP_RUNNING, step.direction == DIRECTION_UNFINISHED);
    }
    let judged = convex_judge(p, local, step.sums);
    if judged == STEP_BROKEN {
        return judged;
    }
    convex_publish(own, local);
    // No descent is left where round-off is all there is.
    return select(judged, STEP_SOLVED, step.decrement <= real(0.0));
}
