//! `render`: files that decoders read, and messages where the machine lacks something.

use std::fs;
use std::process::{Command, Output};

use crate::support::{Files, json, refused};

/// Whether this machine is said to have no adapter.
fn none() -> bool {
    let none = std::env::var("MANYWORLDS_NO_ADAPTER").is_ok_and(|value| value == "1");
    if none {
        eprintln!("\n*** MANYWORLDS_NO_ADAPTER=1: NOTHING IS DRAWN. ***\n");
    }
    none
}

/// Runs the program with another value of an environment variable.
fn run_with(name: &str, value: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manyworlds")).args(args).env(name, value).output().expect("the program starts")
}

#[test]
fn a_png_and_a_gif() {
    if none() {
        return;
    }
    let files = Files::new();
    let path = |name: &str| files.path(name).display().to_string();
    let keys = ["model", "file", "pictures", "adapter"];
    let report = json(&["render", "free-box", "--out", &path("box.png"), "--size", "90x70", "--steps", "3"], &keys);
    assert_eq!(report["pictures"], 1);
    let png = fs::read(path("box.png")).unwrap();
    // Signature, the length and name of the first chunk, width and height.
    assert_eq!(png[..24], [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0".as_slice(), &[90, 0, 0, 0, 70]].concat());

    // 40 steps of 5 ms: pictures at 0, 40, .. 200 ms.
    let report = json(&["render", "free-box", "--out", &path("box.gif"), "--size", "90x70", "--steps", "40"], &keys);
    assert_eq!(report["pictures"], 6);
    let gif = fs::read(path("box.gif")).unwrap();
    assert_eq!(gif[..10], [b"GIF89a".as_slice(), &[90, 0, 70, 0]].concat());
    assert_eq!(gif.last(), Some(&0x3b));
}

#[test]
fn cameras_of_the_file_and_arrows_of_contacts() {
    if none() {
        return;
    }
    let files = Files::new();
    let model = files.write(
        "ball.xml",
        r#"<mujoco model="ball"><worldbody>
          <geom type="plane" size="1 1 1"/>
          <camera name="near" pos="0 -1 .2" fovy="15" xyaxes="1 0 0 0 0 1"/>
          <camera name="far" pos="0 -3 .2" fovy="15" xyaxes="1 0 0 0 0 1"/>
          <body pos="0 0 .1"><freejoint/><geom size=".1" mass="2" rgba="0 1 0 1"/></body>
        </worldbody></mujoco>"#,
    );
    let out = files.path("ball.png").display().to_string();
    let render = |options: &[&str]| {
        let args = [&["render", &model, "--out", &out, "--size", "160x160", "--steps", "5"], options].concat();
        let report = json(&args, &["pictures"]);
        let mut reader = png::Decoder::new(std::io::Cursor::new(fs::read(&out).unwrap())).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let count = |is: fn(&[u8]) -> bool| pixels.chunks_exact(3).filter(|p| is(p)).count();
        let green = count(|p| p[1] > p[0].max(p[2]).saturating_add(40));
        let blue = count(|p| p[2] > p[1].saturating_add(40) && p[2] > p[0].saturating_add(80));
        (report, green, blue)
    };
    // Three times as far away the ball covers about a ninth of what it does near by.
    let (_, near, _) = render(&["--camera", "near"]);
    let (_, far, _) = render(&["--camera", "1"]);
    assert!(near > 1000 && far > 100 && far * 6 < near, "{near} {far}");
    let (report, _, without) = render(&["--camera", "near"]);
    assert!(report.get("impulse_per_metre").is_none(), "{report}");
    // Of a ball of 2 kg at rest: weight times 2 ms, and no arrow is longer than what is seen.
    let (report, _, with) = render(&["--camera", "near", "--contacts"]);
    assert!(with > without + 10, "{without} {with}");
    let scale = report["impulse_per_metre"].as_f64().unwrap();
    let length = 2.0 * 9.81 * 0.002 / scale;
    assert!((0.05..0.2).contains(&length), "{report}");
    // It is solved: the arrow is as blue, by another scale.
    let (report, _, solved) = render(&["--camera", "near", "--contacts=residual"]);
    assert!(solved > without + 10 && report.get("red_penetration").is_none(), "{without} {solved} {report}");
    assert!(report["red_residual"].as_f64().unwrap() >= 1e3 * report["blue_residual"].as_f64().unwrap(), "{report}");
    refused(&["render", &model, "--out", &out, "--contacts=red"], &["--contacts", "red", "penetration or residual"]);
    refused(&["render", &model, "--out", &out, "--camera", "top"], &["\"top\"", "\"ball\"", "\"near\", \"far\""]);
    refused(&["render", "free-box", "--out", &out, "--camera", "0"], &["\"0\"", "none"]);
}

#[test]
fn centres_of_mass_and_joint_axes_are_drawn_when_asked_for() {
    if none() {
        return;
    }
    let files = Files::new();
    let model = files.write(
        "arm.xml",
        r#"<mujoco model="arm"><worldbody>
          <body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1" rgba="1 1 1 1"/>
            <body pos="1 0 0"><joint type="slide" axis="0 0 1"/><geom size=".2" rgba="1 1 1 1"/></body></body>
        </worldbody></mujoco>"#,
    );
    let out = files.path("arm.png").display().to_string();
    // Pixels of magenta, of blue and of green.
    let render = |options: &[&str]| {
        json(&[&["render", &model, "--out", &out, "--size", "200x150"], options].concat(), &["pictures"]);
        let mut reader = png::Decoder::new(std::io::Cursor::new(fs::read(&out).unwrap())).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let count =
            |is: fn(&[i32]) -> bool| pixels.chunks_exact(3).filter(|p| is(&[0, 1, 2].map(|k| i32::from(p[k])))).count();
        [
            count(|p| p[0] > p[1] + 60 && p[2] > p[1] + 60),
            count(|p| p[2] > p[0] + 80 && p[2] > p[1] + 50),
            count(|p| p[1] > p[0] + 60 && p[1] > p[2] + 50),
        ]
    };
    assert_eq!(render(&[]), [0; 3]);
    let [magenta, blue, green] = render(&["--centres-of-mass"]);
    assert!(magenta > 3 && blue == 0 && green == 0, "{magenta} {blue} {green}");
    let [magenta, blue, green] = render(&["--joint-axes"]);
    assert!(magenta == 0 && blue > 3 && green > 3, "{magenta} {blue} {green}");
}

#[test]
fn a_view_without_a_window_is_a_film() {
    if none() {
        return;
    }
    let files = Files::new();
    let out = files.path("boxes.gif").display().to_string();
    let keys = ["model", "file", "worlds", "pictures", "time", "adapter", "look"];
    let args = ["view", "free-box", "--out", &out, "--worlds", "3", "--seconds", "0.2", "--size", "64x48"];
    let report = json(&args, &keys);
    assert_eq!((&report["worlds"], &report["pictures"]), (&3.into(), &6.into()));
    assert!((report["time"].as_f64().unwrap() - 0.2).abs() < 1e-9, "{report}");
    assert_eq!(fs::read(&out).unwrap()[..10], [b"GIF89a".as_slice(), &[64, 0, 48, 0]].concat());

    // A picture of the end.
    let out = files.path("boxes.png").display().to_string();
    let report =
        json(&["view", "free-box", "--out", &out, "--worlds", "2", "--seconds", "0.1", "--size", "64x48"], &keys);
    assert_eq!(report["pictures"], 1);
    assert!((report["time"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{report}");
    assert_eq!(fs::read(&out).unwrap()[..4], *b"\x89PNG");

    // Without --out and without a display: here, under the model's name, and it says how to have a window.
    let here = files.path("");
    let output = Command::new(env!("CARGO_BIN_EXE_manyworlds"))
        .args(["view", "free-box", "--seconds", "0.1", "--size", "32x32"])
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env("PATH", &here)
        .current_dir(&here)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("xdg-open free-box.gif") && said.contains("indow"), "{said}");
    assert!(files.path("free-box.gif").exists());

    refused(&["view", "free-box", "--worlds", "0"], &["--worlds", "0"]);
    refused(&["view", "free-box", "--seconds", "-1"], &["--seconds"]);
    refused(&["view", "free-box", "--out", "box.jpg"], &["box.jpg", ".png", ".gif", ".mp4", ".webp"]);
    refused(&["view", "free-box", "--out", &out, "--camera", "top"], &["\"top\"", "none"]);
    #[cfg(not(feature = "rerun"))]
    refused(&["view", "free-box", "--rerun", "box.rrd"], &["--rerun", "--features rerun", "view free-box"]);
    let film = files.path("long.gif").display().to_string();
    refused(&["view", "free-box", "--out", &film, "--seconds", "1e9"], &["--seconds", "memory"]);
}

#[test]
fn places_that_cannot_be_written() {
    if none() {
        return;
    }
    refused(&["render", "free-box", "--out", "/no-such-folder/box.png", "--size", "8x8"], &["/no-such-folder/box.png"]);
    let long = ["render", "free-box", "--out", "box.gif", "--size", "8000x8000", "--steps", "10000"];
    refused(&long, &["--steps 10000", "memory"]);
}

/// Elsewhere than on Linux the drivers are not found by files.
#[cfg(target_os = "linux")]
#[test]
fn without_an_adapter() {
    let files = Files::new();
    let out = files.path("box.png").display().to_string();
    let nowhere = files.path("no-driver.json").display().to_string();
    // Loaders before 1.3.207 know the other name.
    let output = Command::new(env!("CARGO_BIN_EXE_manyworlds"))
        .args(["render", "free-box", "--out", &out])
        .env("VK_DRIVER_FILES", &nowhere)
        .env("VK_ICD_FILENAMES", &nowhere)
        .output()
        .expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("no adapter to draw with") && message.contains("mesa-vulkan-drivers"), "{message}");
    assert!(!files.path("box.png").exists());
}

#[cfg(unix)]
#[test]
fn films_of_two_kinds_are_what_ffmpeg_makes_of_the_pictures() {
    if none() {
        return;
    }
    ["box.mp4", "box.webp"].into_iter().for_each(film_by_ffmpeg);
}

#[cfg(unix)]
fn film_by_ffmpeg(name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new();
    let out = files.path(name).display().to_string();
    let args = ["render", "free-box", "--out", &out, "--size", "8x6", "--steps", "40"];
    let empty = files.path("").display().to_string();
    let output = run_with("PATH", &empty, &args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("ffmpeg") && message.contains(".gif"), "{message}");

    // In its place a script that keeps what it is sent: six pictures of 8 x 6 pixels of four bytes.
    let program = files.write("ffmpeg", "#!/bin/sh\nfor last; do :; done\nexec /bin/cat > \"$last\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = run_with("PATH", &empty, &args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(&out).unwrap().len(), 6 * 8 * 6 * 4);

    files.write("ffmpeg", "#!/bin/sh\necho it broke >&2\nexit 3\n");
    let output = run_with("PATH", &empty, &args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("it broke"), "{message}");
}
