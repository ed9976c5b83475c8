//! The page of `web/`: built into a folder, and tried in headless Chromium.
//!
//! No part of `.ci/run`: Chromium and Rust's standard library for wasm are two more things to install.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::run::{cargo, root, run, succeeds, target};

/// Options of `cargo xtask web`.
#[derive(Args)]
pub(crate) struct WebArgs {
    /// Where the page is put [default: web in cargo's target folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Tries it in headless Chromium
    #[arg(long)]
    test: bool,
}

const TARGET: &str = "wasm32-unknown-unknown";
/// What a page is made of, beside the wasm.
const FILES: [&str; 8] =
    ["index.html", "style.css", "main.js", "simulator.js", "webgpu.js", "webgl.js", "drop.js", "history.js"];
/// The renderer's shader, which WebGPU takes as it is.
const SHADER: &str = "scene.wgsl";
const WASM: &str = "manyworlds.wasm";
const TEST: &str = "test.js";
/// Side of the squares of pixels whose means are compared, and their largest mean difference, of 255.
const SQUARE: usize = 8;
const ALIKE: f64 = 3.0;
/// Longest time that the test may take.
const LIMIT: Duration = Duration::from_secs(180);

/// Builds the page.
pub(crate) fn web(args: &WebArgs) -> Result<()> {
    // Every browser of today has SIMD; only this build asks for it.
    let flags = ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-C target-feature=+simd128");
    let built =
        run(cargo().args(["build", "--release", "--target", TARGET, "-p", "manyworlds-web"]).env(flags.0, flags.1));
    built.with_context(|| format!("if the standard library is missing: rustup target add {TARGET}"))?;
    let out = args.out.as_ref().map_or_else(|| target().join("web"), |out| root().join(out));
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let copy = |from: PathBuf, name: &str| {
        fs::copy(&from, out.join(name)).map(|_| ()).with_context(|| from.display().to_string())
    };
    copy(target().join(TARGET).join("release").join("manyworlds_web.wasm"), WASM)?;
    copy(root().join("crates/render/src").join(SHADER), SHADER)?;
    FILES.iter().try_for_each(|name| copy(root().join("web").join(name), name))?;
    eprintln!("The page is in {0}; serve it, for example: python3 -m http.server --directory {0}", out.display());
    if args.test { test(&out) } else { Ok(()) }
}

/// A browser that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A renderer of the page: what its address says, and what Chromium needs to have it by software.
struct Drawn {
    name: &'static str,
    address: &'static str,
    flags: &'static [&'static str],
}

const RENDERERS: [Drawn; 2] = [
    Drawn { name: "webgl", address: "?renderer=webgl", flags: &[] },
    Drawn {
        name: "webgpu",
        address: "",
        // Without the last two the page's canvas takes nothing that WebGPU draws.
        flags: &[
            "--enable-unsafe-webgpu",
            "--use-webgpu-adapter=swiftshader",
            "--enable-features=Vulkan",
            "--use-vulkan=swiftshader",
        ],
    },
];

/// Tries the page with each renderer.
fn test(page: &Path) -> Result<()> {
    RENDERERS.iter().try_for_each(|drawn| test_with(page, drawn).with_context(|| drawn.name))
}

/// Opens the page with `web/test.js` in it, and looks at what that posts.
fn test_with(page: &Path, drawn: &Drawn) -> Result<()> {
    let chromium = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| succeeds(Command::new(name).arg("--version")))
        .context("no Chromium was found: apt-get install chromium")?;
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/{}", server.local_addr()?, drawn.address);
    let folder = target().join("web-test").join(drawn.name);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let child = Command::new(chromium)
        .args(["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        .args(drawn.flags)
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(&address)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context(chromium)?;
    let _browser = Running(child);
    let said = serve(&server, page, &folder)?;
    eprintln!("  the page says {said}");

    let expected = from_png(&root().join("web/heavy-stack.png"))?;
    let (start, beside) = (from_png(&folder.join("start.png"))?, from_png(&folder.join("beside.png"))?);
    let off = difference(&start, &expected)?;
    ensure!(off < ALIKE, "{}/start.png differs by {off:.1} of 255 from web/heavy-stack.png", folder.display());
    let other = difference(&beside, &expected)?;
    ensure!(other > ALIKE, "a picture of two stacks differs by {other:.1} alone: the comparison sees nothing");
    eprintln!("  the picture differs by {off:.2} of 255 from that of `render`, another scene's by {other:.2}");
    Ok(())
}

/// Answers the browser until the test has ended; what it said at the end.
fn serve(server: &TcpListener, page: &Path, folder: &Path) -> Result<String> {
    server.set_nonblocking(true)?;
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let Ok((stream, _)) = server.accept() else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        // A connection that the browser opens ahead and does not use is no failure.
        let Ok(request) = Request::read(&stream) else { continue };
        let text = || String::from_utf8_lossy(&request.body).into_owned();
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/done") => return Ok(text()),
            ("POST", "/failed") => bail!("the page failed: {}", text()),
            ("POST", path) => {
                let name = path.strip_prefix("/picture/").filter(|name| name.bytes().all(|b| b.is_ascii_alphabetic()));
                let name = name.with_context(|| format!("the page posted {path}"))?;
                fs::write(folder.join(format!("{name}.png")), &request.body)?;
                answer(&stream, "200 OK", "text/plain", b"")?;
            }
            (_, "/") => {
                let index = fs::read_to_string(page.join("index.html"))?;
                let own = format!("<script type=\"module\" src=\"{TEST}\"></script>\n</body>");
                answer(&stream, "200 OK", "text/html", index.replace("</body>", &own).as_bytes())?;
            }
            (_, path) => {
                let name = path.trim_start_matches('/');
                let from = if name == TEST { root().join("web") } else { page.to_path_buf() };
                let known = FILES.contains(&name) || [TEST, WASM, SHADER].contains(&name);
                match known.then(|| fs::read(from.join(name))) {
                    Some(bytes) => answer(&stream, "200 OK", kind(name), &bytes?)?,
                    None => answer(&stream, "404 Not Found", "text/plain", b"")?,
                }
            }
        }
    }
    bail!("the page said nothing for {} s", LIMIT.as_secs())
}

fn kind(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        _ => "text/html",
    }
}

/// What a browser asks.
struct Request {
    method: String,
    /// Without what follows a question mark.
    path: String,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let method = words.next().context("no request")?.to_owned();
        let path = words.next().context("no path")?.split('?').next().unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { method, path, body })
    }
}

fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    Ok(stream.write_all(body)?)
}

/// Width, and red, green and blue, row by row.
type Image = (usize, Vec<[u8; 3]>);

fn from_png(path: &Path) -> Result<Image> {
    let file = BufReader::new(File::open(path).with_context(|| path.display().to_string())?);
    let mut reader = png::Decoder::new(file).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("a picture too large")?];
    let frame = reader.next_frame(&mut pixels)?;
    let channels = frame.color_type.samples();
    ensure!(channels >= 3, "{}: expected a picture in colours", path.display());
    Ok((frame.width as usize, pixels.chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect()))
}

/// Mean difference of two pictures of one size looked at coarsely, of 255.
fn difference((width, a): &Image, (other, b): &Image) -> Result<f64> {
    ensure!(width == other && a.len() == b.len(), "pictures of {} and {} pixels", a.len(), b.len());
    let across = width.div_ceil(SQUARE);
    let coarse = |image: &[[u8; 3]]| {
        let mut sums = vec![0.0; 3 * across * (image.len() / width).div_ceil(SQUARE)];
        for (i, pixel) in image.iter().enumerate() {
            let square = i / width / SQUARE * across + i % width / SQUARE;
            (0..3).for_each(|c| sums[3 * square + c] += f64::from(pixel[c]) / (SQUARE * SQUARE) as f64);
        }
        sums
    };
    let (a, b) = (coarse(a), coarse(b));
    Ok(a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64)
}
