//! Steps in real time.

/// Simulated time that follows a clock.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Simulated seconds a second.
    pub speed: f64,
    /// Time that is still to be simulated, s.
    behind: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { speed: 1.0, behind: 0.0 }
    }
}

impl Pace {
    /// So much time passed, s.
    pub fn pass(&mut self, seconds: f64) {
        self.behind += seconds * self.speed;
    }

    /// Whether a step of this length is due; it then counts as taken.
    pub fn due(&mut self, step: f64) -> bool {
        let due = self.behind >= step;
        if due {
            self.behind -= step;
        }
        due
    }

    /// Nothing is due: where a machine is slower than real time, so is the simulation.
    pub fn forget(&mut self) {
        self.behind = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn steps_follow_the_clock() {
        let mut pace = Pace { speed: 2.0, ..Pace::default() };
        let mut steps = 0;
        for _ in 0..10 {
            pace.pass(0.1);
            while pace.due(0.03125) {
                steps += 1;
            }
        }
        // 2 s in steps of 1/32 s; the last may still be due, by rounding.
        assert!((63..=64).contains(&steps), "{steps}");
        pace.pass(5.0);
        pace.forget();
        assert!(!pace.due(0.03125));
    }
}
