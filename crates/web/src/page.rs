//! What JavaScript calls, on the one thread of the page: numbers in and out, texts and arrays as places in memory.
//!
//! Functions that can fail return 0 when they did; [`text`] is then what is wrong.

use std::cell::RefCell;

use manyworlds::scenes;
use manyworlds_render::{Display, Size};
use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::worlds::{Certificate, Worlds};

#[derive(Default)]
struct Page {
    /// What the page hands over next.
    input: Vec<u8>,
    files: Files,
    worlds: Option<Worlds>,
    corners: Vec<f32>,
    display: Display,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    /// Apart: a call that panics holds the page, and never gives it back.
    static TEXT: RefCell<String> = RefCell::default();
}

/// What is to be opened.
#[derive(Deserialize)]
struct Opening {
    /// Path of a dropped file, or none.
    file: Option<String>,
    /// Name of a scene where there is no file.
    scene: String,
    worlds: usize,
    solvers: Vec<String>,
}

#[derive(Serialize)]
struct Known {
    scenes: Vec<[&'static str; 2]>,
    solvers: Vec<&'static str>,
}

#[derive(Serialize)]
struct Report {
    time: f64,
    certificates: Vec<Certificate>,
}

/// Most worlds at once.
const MOST: usize = 256;
/// Scenes of more bodies than a page steps in any reasonable time.
const LEFT_OUT: [&str; 2] = ["pile", "quadruped-drop-1000"];

impl Page {
    fn input(&mut self) -> Result<String, String> {
        String::from_utf8(std::mem::take(&mut self.input)).map_err(|_| "not a text".to_owned())
    }

    fn worlds(&mut self) -> Result<&mut Worlds, String> {
        self.worlds.as_mut().ok_or_else(|| "nothing is open".to_owned())
    }

    fn open(&mut self) -> Result<(), String> {
        let opening: Opening = serde_json::from_str(&self.input()?).map_err(|e| e.to_string())?;
        if !(1..=MOST).contains(&opening.worlds) || opening.solvers.is_empty() {
            return Err(format!("expected 1 to {MOST} worlds and at least one solver"));
        }
        let worlds = match &opening.file {
            Some(path) => Worlds::of_model(self.files.load(path)?, opening.worlds, &opening.solvers)?,
            None => Worlds::of_scene(&opening.scene, opening.worlds, &opening.solvers)?,
        };
        self.corners = worlds.corners();
        self.worlds = Some(worlds);
        Ok(())
    }

    fn report(&mut self) -> Result<(), String> {
        let worlds = self.worlds()?;
        let report = Report { time: worlds.time(), certificates: worlds.certificates()? };
        say(&report)
    }
}

/// As JSON in [`text`].
fn say(what: &impl Serialize) -> Result<(), String> {
    TEXT.set(serde_json::to_string(what).map_err(|e| e.to_string())?);
    Ok(())
}

/// Runs something; 1 if it went well.
fn done(what: impl FnOnce(&mut Page) -> Result<(), String>) -> u32 {
    PAGE.with_borrow_mut(|page| match what(page) {
        Ok(()) => 1,
        Err(message) => {
            TEXT.set(message);
            0
        }
    })
}

/// Memory for the next text or file, which the page fills.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input = vec![0; bytes];
        page.input.as_mut_ptr()
    })
}

/// The last text: a report, or what went wrong.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// Bytes of [`text`].
#[unsafe(no_mangle)]
pub extern "C" fn text_len() -> usize {
    TEXT.with_borrow(String::len)
}

/// Scenes and solvers, as JSON in [`text`].
#[unsafe(no_mangle)]
pub extern "C" fn known() -> u32 {
    done(|_| {
        let all = scenes::list().iter().filter(|scene| !LEFT_OUT.contains(&scene.name.as_str()));
        let known = Known {
            scenes: all.map(|scene| [scene.name.as_str(), scene.description.as_str()]).collect(),
            solvers: manyworlds::contact::SOLVERS.iter().map(|solver| solver.name()).collect(),
        };
        say(&known)
    })
}

/// Forgets dropped files.
#[unsafe(no_mangle)]
pub extern "C" fn forget_files() {
    PAGE.with_borrow_mut(|page| page.files.clear());
}

/// Takes a dropped file from [`input`]: so many bytes are its path, the rest is what it holds.
#[unsafe(no_mangle)]
pub extern "C" fn add_file(path_len: usize) -> u32 {
    done(|page| {
        let mut input = std::mem::take(&mut page.input);
        let bytes = input.split_off(path_len.min(input.len()));
        page.files.add(&String::from_utf8_lossy(&input), bytes);
        Ok(())
    })
}

/// Opens what [`input`] says as JSON: `{"file": null, "scene": "humanoid", "worlds": 1, "solvers": ["auto"]}`.
#[unsafe(no_mangle)]
pub extern "C" fn open() -> u32 {
    done(Page::open)
}

/// Back to the start.
#[unsafe(no_mangle)]
pub extern "C" fn reset() -> u32 {
    done(|page| page.worlds()?.reset())
}

/// One step.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> u32 {
    done(|page| page.worlds()?.step())
}

/// Time step, s; 0 where nothing is open.
#[unsafe(no_mangle)]
pub extern "C" fn time_step() -> f64 {
    PAGE.with_borrow(|page| page.worlds.as_ref().map_or(0.0, Worlds::time_step))
}

/// Time and certificates, as JSON in [`text`].
#[unsafe(no_mangle)]
pub extern "C" fn report() -> u32 {
    done(Page::report)
}

/// Whether contacts are drawn.
#[unsafe(no_mangle)]
pub extern "C" fn show_contacts(on: u32) -> u32 {
    done(|page| {
        page.worlds()?.arrows = on != 0;
        Ok(())
    })
}

/// Looks at everything that moves, in a picture of this size.
#[unsafe(no_mangle)]
pub extern "C" fn frame(width: u32, height: u32) -> u32 {
    done(|page| page.worlds()?.frame(Size { width: width.max(1), height: height.max(1) }))
}

/// Moves the camera: turned (rad), panned (parts of the picture's height), and its distance by a factor.
#[unsafe(no_mangle)]
pub extern "C" fn move_camera(turn: f64, lift: f64, right: f64, up: f64, distance: f64) -> u32 {
    done(|page| {
        let camera = page.worlds()?.camera();
        *camera = camera.orbited(turn, lift).panned(right, up).zoomed(distance);
        Ok(())
    })
}

/// Prepares what is drawn in a picture of this size; [`numbers`] and [`count`] give it.
#[unsafe(no_mangle)]
pub extern "C" fn display(width: u32, height: u32) -> u32 {
    done(|page| {
        let size = Size { width: width.max(1), height: height.max(1) };
        page.display = page.worlds()?.display(size)?;
        Ok(())
    })
}

/// Where numbers of the picture begin: 0 corners of meshes, 1 of soft bodies, 2 runs, 3 instances, 4 the view.
#[unsafe(no_mangle)]
pub extern "C" fn numbers(which: u32) -> *const u8 {
    PAGE.with_borrow(|page| match which {
        0 => page.corners.as_ptr().cast(),
        1 => page.display.soft.as_ptr().cast(),
        2 => page.display.runs.as_ptr().cast(),
        3 => page.display.instances.as_ptr().cast(),
        _ => page.display.view.as_ptr().cast(),
    })
}

/// How many numbers of [`numbers`] there are, each of four bytes.
#[unsafe(no_mangle)]
pub extern "C" fn count(which: u32) -> usize {
    PAGE.with_borrow(|page| match which {
        0 => page.corners.len(),
        1 => page.display.soft.len(),
        2 => page.display.runs.len(),
        3 => page.display.instances.len(),
        _ => page.display.view.len(),
    })
}

/// Puts what a panic says into [`text`], where the page finds it: the call itself ends in a trap. Called once.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| TEXT.set(format!("a fault of the simulator: {panic}"))));
}
