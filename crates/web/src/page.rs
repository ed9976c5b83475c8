//! What JavaScript calls, on the one thread of the page: numbers in and out, texts and arrays as places in memory.
//!
//! Functions that can fail return 0 when they did; [`text`] is then what is wrong.

use std::cell::RefCell;

use manyworlds::scenes;
use manyworlds_render::{Display, Size};
use manyworlds_view::{Certificate, ContactColour, Marks, Pace};
use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::scene::Shown;

#[derive(Default)]
struct Page {
    /// What the page hands over next.
    input: Vec<u8>,
    files: Files,
    shown: Option<Shown>,
    pace: Pace,
    /// Whether the last press of the mouse took hold of a body.
    holds: bool,
    corners: Vec<f32>,
    /// Pixels of the textures.
    textures: Vec<u8>,
    history: Vec<f32>,
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
    /// What arrows stand for, where contacts are shown.
    scale: Option<String>,
}

/// Most worlds at once.
const MOST: usize = 256;
/// Scenes of more bodies than a page steps in any reasonable time.
const LEFT_OUT: [&str; 2] = ["pile", "quadruped-drop-1000"];

impl Page {
    fn input(&mut self) -> Result<String, String> {
        String::from_utf8(std::mem::take(&mut self.input)).map_err(|_| "not a text".to_owned())
    }

    fn shown(&mut self) -> Result<&mut Shown, String> {
        self.shown.as_mut().ok_or_else(|| "nothing is open".to_owned())
    }

    fn open(&mut self) -> Result<(), String> {
        let opening: Opening = serde_json::from_str(&self.input()?).map_err(|e| e.to_string())?;
        if !(1..=MOST).contains(&opening.worlds) || opening.solvers.is_empty() {
            return Err(format!("expected 1 to {MOST} worlds and at least one solver"));
        }
        let shown = match &opening.file {
            Some(path) => Shown::of_model(self.files.load(path)?, opening.worlds, &opening.solvers)?,
            None => Shown::of_scene(&opening.scene, opening.worlds, &opening.solvers)?,
        };
        self.corners = shown.corners();
        self.textures.clone_from(&shown.layers().pixels);
        self.shown = Some(shown);
        self.pace.forget();
        Ok(())
    }

    fn report(&mut self) -> Result<(), String> {
        let shown = self.shown()?;
        let (time, certificates) = (shown.worlds().time(), shown.certificates()?);
        let report = Report { time, certificates, scale: shown.scale() };
        self.history = shown.history();
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

/// Takes a dropped file from [`input`]: so many bytes are its path, the rest is what it holds. Of a .zip, all that is in it.
#[unsafe(no_mangle)]
pub extern "C" fn add_file(path_len: usize) -> u32 {
    done(|page| {
        let mut input = std::mem::take(&mut page.input);
        let bytes = input.split_off(path_len.min(input.len()));
        page.files.add(&String::from_utf8_lossy(&input), bytes)
    })
}

/// The model among the files that were dropped, as JSON in [`text`].
#[unsafe(no_mangle)]
pub extern "C" fn find_model() -> u32 {
    done(|page| say(&page.files.model()?))
}

/// Goes on under the solvers that [`input`] says as JSON: `["auto", "pgs"]`.
#[unsafe(no_mangle)]
pub extern "C" fn switch() -> u32 {
    done(|page| {
        let solvers: Vec<String> = serde_json::from_str(&page.input()?).map_err(|e| e.to_string())?;
        if solvers.is_empty() {
            return Err("expected at least one solver".to_owned());
        }
        page.shown()?.switch(&solvers)
    })
}

/// So much time passed, s: some steps may be due.
#[unsafe(no_mangle)]
pub extern "C" fn pass(seconds: f64) {
    PAGE.with_borrow_mut(|page| page.pace.pass(seconds));
}

/// Whether a step is due; it then counts as taken.
#[unsafe(no_mangle)]
pub extern "C" fn due() -> u32 {
    PAGE.with_borrow_mut(|page| {
        let step = page.shown.as_ref().map_or(f64::INFINITY, Shown::time_step);
        u32::from(page.pace.due(step))
    })
}

/// No step is due: the machine is slower than real time.
#[unsafe(no_mangle)]
pub extern "C" fn forget() {
    PAGE.with_borrow_mut(|page| page.pace.forget());
}

/// Takes hold of the body under a point of the picture (x and y from -1 to 1, to the right and upward), if there is one
/// that moves; [`holds`] then says whether there was.
#[unsafe(no_mangle)]
pub extern "C" fn take(x: f64, y: f64, width: u32, height: u32) -> u32 {
    done(|page| {
        page.holds = page.shown()?.take([x, y], Size { width: width.max(1), height: height.max(1) })?;
        Ok(())
    })
}

/// Whether [`take`] took hold of a body.
#[unsafe(no_mangle)]
pub extern "C" fn holds() -> u32 {
    PAGE.with_borrow(|page| u32::from(page.holds))
}

/// Pulls what is held to a point of the picture.
#[unsafe(no_mangle)]
pub extern "C" fn drag(x: f64, y: f64, width: u32, height: u32) -> u32 {
    done(|page| {
        page.shown()?.drag([x, y], Size { width: width.max(1), height: height.max(1) });
        Ok(())
    })
}

/// Lets go of what is held.
#[unsafe(no_mangle)]
pub extern "C" fn let_go() -> u32 {
    done(|page| {
        page.holds = false;
        page.shown()?.worlds().let_go();
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
    done(|page| page.shown()?.restart())
}

/// One step.
#[unsafe(no_mangle)]
pub extern "C" fn step() -> u32 {
    done(|page| page.shown()?.step())
}

/// Time step, s; 0 where nothing is open.
#[unsafe(no_mangle)]
pub extern "C" fn time_step() -> f64 {
    PAGE.with_borrow(|page| page.shown.as_ref().map_or(0.0, Shown::time_step))
}

/// Time and certificates, as JSON in [`text`].
#[unsafe(no_mangle)]
pub extern "C" fn report() -> u32 {
    done(Page::report)
}

/// What is shown beside shapes: contacts (0 not, 1 by penetration, 2 by residual), centres of mass, axes of joints.
#[unsafe(no_mangle)]
pub extern "C" fn show_marks(contacts: u32, centres: u32, axes: u32) -> u32 {
    done(|page| {
        let contacts = contacts.checked_sub(1).and_then(|number| ContactColour::ALL.get(number as usize)).copied();
        page.shown()?.mark(Marks { contacts, centres: centres != 0, axes: axes != 0 });
        Ok(())
    })
}

/// Looks at everything that moves, in a picture of this size.
#[unsafe(no_mangle)]
pub extern "C" fn frame(width: u32, height: u32) -> u32 {
    done(|page| page.shown()?.frame(Size { width: width.max(1), height: height.max(1) }))
}

/// Moves the camera: turned (rad), panned (parts of the picture's height), and its distance by a factor.
#[unsafe(no_mangle)]
pub extern "C" fn move_camera(turn: f64, lift: f64, right: f64, up: f64, distance: f64) -> u32 {
    done(|page| {
        let camera = page.shown()?.camera();
        *camera = camera.orbited(turn, lift).panned(right, up).zoomed(distance);
        Ok(())
    })
}

/// Prepares what is drawn in a picture of this size; [`numbers`] and [`count`] give it.
#[unsafe(no_mangle)]
pub extern "C" fn display(width: u32, height: u32) -> u32 {
    done(|page| {
        let size = Size { width: width.max(1), height: height.max(1) };
        page.display = page.shown()?.display(size)?;
        Ok(())
    })
}

/// Where numbers of the picture begin: 0 corners of meshes, 1 of soft bodies, 2 runs, 3 instances, 4 the view, 5
/// residuals of the last steps under the first two solvers, N s, as [`report`] found them, 6 pixels of square textures, of which
/// [`textures`] says how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn numbers(which: u32) -> *const u8 {
    PAGE.with_borrow(|page| match which {
        0 => page.corners.as_ptr().cast(),
        1 => page.display.soft.as_ptr().cast(),
        2 => page.display.runs.as_ptr().cast(),
        3 => page.display.instances.as_ptr().cast(),
        4 => page.display.view.as_ptr().cast(),
        5 => page.history.as_ptr().cast(),
        _ => page.textures.as_ptr(),
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
        4 => page.display.view.len(),
        5 => page.history.len(),
        _ => page.textures.len() / 4,
    })
}

/// How many textures there are; all have the same side.
#[unsafe(no_mangle)]
pub extern "C" fn textures() -> u32 {
    PAGE.with_borrow(|page| page.shown.as_ref().map_or(0, |shown| shown.layers().count()))
}

/// Puts what a panic says into [`text`], where the page finds it: the call itself ends in a trap. Called once.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| TEXT.set(format!("a fault of the simulator: {panic}"))));
}
