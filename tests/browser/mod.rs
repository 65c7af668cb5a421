//! Headless Chromium (Debian's `chromium`) by its DevTools protocol over a pipe: a page that a test
//! acts on as a person would, with everything that it wrote to the console or asked for.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CHROMIUM: &str = "/usr/bin/chromium";

/// Longer than any answer takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// How a page is shown.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
    /// Whether the system asks for dark colours.
    pub dark: bool,
    /// Whether it is a phone.
    pub phone: bool,
}

/// A desktop screen in light colours.
pub const DESKTOP: Screen = Screen {
    width: 1200,
    height: 900,
    dark: false,
    phone: false,
};

/// A phone's screen.
pub const PHONE: Screen = Screen {
    width: 390,
    height: 844,
    dark: false,
    phone: true,
};

/// An open page.
pub struct Page {
    chromium: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    next: u64,
    /// What the page wrote to the console, and errors in its scripts.
    pub console: Vec<String>,
    /// The address of everything that the page asked for, itself included.
    pub requests: Vec<String>,
    // Last, so that it goes when Chromium has gone.
    _profile: tempfile::TempDir,
}

impl Page {
    /// Starts Chromium and loads a file.
    pub fn open(file: &Path, screen: Screen) -> Self {
        Self::open_url(&format!("file://{}", file.display()), screen)
    }

    /// Starts Chromium and loads an address.
    pub fn open_url(url: &str, screen: Screen) -> Self {
        assert!(
            Path::new(CHROMIUM).exists(),
            "this test needs Debian's chromium: apt-get install chromium"
        );
        let profile = tempfile::tempdir().expect("a directory");
        // Chromium speaks on file descriptors 3 and 4; a Command has 0 and 1.
        let mut chromium = Command::new("sh")
            .arg("-c")
            .arg("exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null")
            .arg("sh")
            .arg(CHROMIUM)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--force-color-profile=srgb",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let to = chromium.stdin.take().expect("it is piped");
        let answers = chromium.stdout.take().expect("it is piped");
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("Chromium writes JSON");
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut page = Self {
            chromium,
            to,
            from,
            session: String::new(),
            next: 1,
            console: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        page.show(url, screen);
        page
    }

    fn show(&mut self, url: &str, screen: Screen) {
        let target = self.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = self.ask(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        self.session = attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.ask(&format!("{domain}.enable"), json!({}));
        }
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": screen.width, "height": screen.height, "mobile": screen.phone,
                "deviceScaleFactor": if screen.phone { 2 } else { 1 },
            }),
        );
        let scheme = if screen.dark { "dark" } else { "light" };
        self.ask(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
        let answer = self.ask("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
        self.eval(
            "new Promise((done) => document.readyState === 'complete' ? done() : \
             addEventListener('load', () => done()))",
        );
    }

    /// Calls a method of the protocol and returns its result.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("JSON");
        bytes.push(0);
        self.to.write_all(&bytes).expect("Chromium reads");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.from.recv_timeout(left);
            let answer = answer.expect("Chromium answers in time");
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let said = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" => self.console.push(said["args"].to_string()),
            "Runtime.exceptionThrown" => self.console.push(said["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.console.push(said["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                let url = said["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }

    /// The value of an expression in the page, of a promise when it is kept.
    pub fn eval(&mut self, expression: &str) -> Value {
        let answer = self.ask(
            "Runtime.evaluate",
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// The text of an expression.
    pub fn text(&mut self, expression: &str) -> String {
        match self.eval(expression) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Moves the mouse to the middle of the element that an expression gives.
    pub fn point_at(&mut self, element: &str) -> (f64, f64) {
        // What comes into view may grow what is above it: the place counts once it stays.
        let place = self.eval(&format!(
            "(async () => {{ \
             const frame = () => new Promise((r) => requestAnimationFrame(r)); \
             let last = ''; \
             for (let i = 0; i < 100; i++) {{ \
             const e = {element}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             await frame(); await frame(); \
             const b = e.getBoundingClientRect(), at = [b.x + b.width / 2, b.y + b.height / 2]; \
             if (String(at) === last) return at; last = String(at); }} \
             throw new Error('it does not come to rest'); }})()"
        ));
        let x = place[0].as_f64().expect("a place");
        let y = place[1].as_f64().expect("a place");
        self.mouse("mouseMoved", x, y);
        (x, y)
    }

    /// Clicks on the middle of the element that an expression gives.
    pub fn click(&mut self, element: &str) {
        let (x, y) = self.point_at(element);
        self.mouse("mousePressed", x, y);
        self.mouse("mouseReleased", x, y);
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        self.ask(
            "Input.dispatchMouseEvent",
            json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 }),
        );
    }

    /// Presses and releases a key by its name (`Tab`, `Enter`, `ArrowUp`, …).
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            self.ask(
                "Input.dispatchKeyEvent",
                json!({
                    "type": kind, "key": key, "code": key, "text": if kind == "keyDown" { text } else { "" },
                    "windowsVirtualKeyCode": code,
                }),
            );
        }
    }

    /// Types a text where the focus is.
    pub fn type_text(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.eval(condition) != json!(true) {
            assert!(Instant::now() < deadline, "never came: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Writes a picture of the page into `$PERFBLAME_SCREENSHOTS`, where that is set.
    pub fn screenshot(&mut self, name: &str, whole: bool) {
        use base64::Engine as _;
        let Some(dir) = std::env::var_os("PERFBLAME_SCREENSHOTS") else {
            return;
        };
        let answer = self.ask(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": whole }),
        );
        let png = base64::engine::general_purpose::STANDARD
            .decode(answer["data"].as_str().expect("a picture"))
            .expect("it is base64");
        std::fs::write(Path::new(&dir).join(name), png).expect("it can be written");
    }

    /// Fails if anything stands in the console, or anything but the file was asked for.
    pub fn assert_quiet(&mut self) {
        // What the page has begun is told before the answer.
        self.eval("new Promise((done) => setTimeout(done, 50))");
        assert_eq!(self.console, [""; 0], "the console is not empty");
        let foreign: Vec<&String> = self
            .requests
            .iter()
            .filter(|url| !url.starts_with("file://"))
            .collect();
        assert_eq!(foreign, [""; 0], "the page asks for something");
        assert_eq!(self.requests.len(), 1, "{:?}", self.requests);
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self
            .to
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if matches!(self.chromium.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}
