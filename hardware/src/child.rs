//! A part of the run in a process of its own, so that a kernel that hangs or a driver that breaks down loses that part alone.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;

/// This program again, for one of its parts.
pub(crate) fn part() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("the path of this program")?))
}

/// Runs a command that prints one JSON object, and kills it past the limit.
///
/// # Errors
/// If it does not start, does not end in time, fails, or prints something else.
pub(crate) fn json<T: DeserializeOwned>(command: &mut Command, limit: Duration) -> Result<T> {
    let mut last = None;
    lines(command, limit, limit, |line| last = Some(line))?;
    let line = last.context("it printed nothing")?;
    serde_json::from_str(&line).with_context(|| format!("it printed `{line}`"))
}

/// Runs a command and hands over its lines as they come. Kills it when a line takes longer than the limit, or all of them
/// longer than `in_all`.
///
/// # Errors
/// As [`json`].
pub(crate) fn lines(
    command: &mut Command,
    limit: Duration,
    in_all: Duration,
    mut take: impl FnMut(String),
) -> Result<()> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", command.get_program().display()))?;
    let (out, err) = (child.stdout.take().context("a pipe")?, child.stderr.take().context("a pipe")?);
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    // The end of what it complains of is its reason, should it fail.
    let complaints = std::thread::spawn(move || BufReader::new(err).lines().map_while(Result::ok).last());
    let start = Instant::now();
    loop {
        let left = in_all.saturating_sub(start.elapsed()).min(limit);
        match receive.recv_timeout(left) {
            Ok(line) => take(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                child.kill().context("could not stop it")?;
                child.wait()?;
                bail!("stopped after {:.0} s", start.elapsed().as_secs_f64());
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        let reason = complaints.join().ok().flatten().unwrap_or_default();
        bail!("{status}: {reason}");
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_hangs_is_stopped() {
        let start = Instant::now();
        let found = json::<u32>(&mut shell("exec sleep 60"), Duration::from_millis(200));
        assert!(found.unwrap_err().to_string().contains("stopped after"));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn what_fails_says_why() {
        let error =
            json::<u32>(&mut shell("echo 3; echo no adapter >&2; exit 2"), Duration::from_secs(30)).unwrap_err();
        assert!(error.to_string().contains("no adapter"), "{error}");
        assert_eq!(json::<u32>(&mut shell("echo 3"), Duration::from_secs(30)).unwrap(), 3);
    }
}
