//! The report and the differential flame graph in headless Chromium (Debian's `chromium`).
//!
//! Each test adds a script to a copy of the page. It does with the page what a person would, by
//! events, and leaves what it saw in an element that `--dump-dom` prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfblame::report::{CompareReport, Profiles, write_all};
use serde_json::Value;

const CHROMIUM: &str = "/usr/bin/chromium";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/report")
        .join(name)
}

fn profiles() -> Profiles {
    let lines = |name: &str| {
        let text = fs::read_to_string(fixture(name)).expect("the fixture is there");
        text.lines().map(str::to_owned).collect()
    };
    Profiles {
        base: lines("base.folded"),
        head: lines("head.folded"),
    }
}

/// The fixture's report with 5,000 functions more, one of which tries to break out.
fn report() -> CompareReport {
    let text = fs::read_to_string(fixture("report.json")).expect("the fixture is there");
    let mut report: CompareReport = serde_json::from_str(&text).expect("the fixture is a report");
    let quiet = report
        .functions
        .last()
        .expect("there are functions")
        .clone();
    for i in 0..5_000 {
        let mut function = quiet.clone();
        function.name = format!("quiet_function_{i:04}");
        function.self_cost.base_share_pct = f64::from(i) / 1e4;
        report.functions.push(function);
    }
    let mut evil = quiet;
    evil.name =
        "</script><script>window.broken=1</script><img src=x onerror=window.broken=1>".into();
    report.functions.push(evil);
    report
}

/// Opens a page, runs `script` in it, and returns what it left; fails on any word in the console
/// and on any request but for the page itself.
fn in_browser(page: &Path, width: u32, script: &str) -> Value {
    assert!(
        Path::new(CHROMIUM).exists(),
        "this test needs Debian's chromium: apt-get install chromium"
    );
    let dir = tempfile::tempdir().expect("a directory");
    let source = fs::read_to_string(page).expect("the page is there");
    let probe = format!(
        "<script>addEventListener('load',()=>setTimeout(()=>{{\
         const seen={{}};\
         const click=(e)=>e.dispatchEvent(new MouseEvent('click',{{bubbles:true}}));\
         const type=(e,t)=>{{e.value=t;e.dispatchEvent(new Event('input',{{bubbles:true}}));}};\
         const wait=(ms)=>new Promise((r)=>setTimeout(r,ms));\
         (async()=>{{{script}}})().catch((e)=>{{seen.error=String(e);}}).finally(()=>{{\
         const out=document.createElementNS('http://www.w3.org/1999/xhtml','pre');out.id='probe';\
         out.textContent=JSON.stringify(seen);document.documentElement.append(out);}});}},50));</script>"
    );
    let is_svg = page.extension().is_some_and(|ending| ending == "svg");
    let probed = match is_svg {
        // Within CDATA, since XML reads a script as markup.
        true => {
            let probe = probe
                .replace("<script>", "<script><![CDATA[")
                .replace("</script>", "]]></script>");
            source.replace("</svg>\n", &format!("{probe}</svg>\n"))
        }
        false => source.replace("</body>", &format!("{probe}</body>")),
    };
    let copy = dir.path().join(match is_svg {
        true => "page.svg",
        false => "page.html",
    });
    fs::write(&copy, probed).expect("it can be written");
    let net_log = dir.path().join("net.json");
    let output = Command::new(CHROMIUM)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--user-data-dir={}",
            dir.path().join("user").display()
        ))
        .arg(format!("--log-net-log={}", net_log.display()))
        .arg(format!("file://{}", copy.display()))
        .stdin(Stdio::null())
        .output()
        .expect("chromium starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(console.is_empty(), "the console is not empty: {console:#?}");
    let requests = fs::read_to_string(&net_log).unwrap_or_default();
    for scheme in ["\"url\":\"http://", "\"url\":\"https://", "\"url\":\"ws"] {
        assert!(!requests.contains(scheme), "the page asks for {scheme}…");
    }
    let start = dom.find("id=\"probe\">").expect("the probe ran") + "id=\"probe\">".len();
    let end = dom[start..].find("</pre>").expect("the probe ends") + start;
    let text = dom[start..end]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&text).expect("the probe left JSON");
    assert_eq!(seen["error"], Value::Null, "{seen}");
    seen
}

fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    write_all(dir.path(), &report(), &profiles()).expect("it is written");
    dir
}

#[test]
fn functions_are_sorted_and_filtered() {
    let dir = written();
    let seen = in_browser(
        &dir.path().join("report.html"),
        1200,
        "const rows=()=>[...document.querySelectorAll('#fn-table tr.row')];\
         const first=()=>rows()[0].querySelector('code').textContent;\
         seen.count=document.getElementById('fn-count').textContent;\
         seen.rendered=rows().length;seen.first=first();\
         click(document.querySelector('th[data-sort=self] button'));seen.bySelf=first();\
         seen.sorted=document.querySelector('th[data-sort=self]').getAttribute('aria-sort');\
         click(document.querySelector('th[data-sort=name] button'));seen.byName=first();\
         click(document.querySelector('th[data-sort=name] button'));seen.byNameDown=first();\
         type(document.getElementById('fn-filter'),'FUNCTION_49');await wait(200);\
         seen.filtered=document.getElementById('fn-count').textContent;\
         type(document.getElementById('fn-filter'),'');\
         const select=document.getElementById('fn-verdict');select.value='regressed';\
         select.dispatchEvent(new Event('change'));await wait(200);seen.regressed=rows().length;\
         click(rows()[0]);seen.opened=document.querySelectorAll('tr.more').length;\
         seen.expanded=rows()[0].querySelector('button').getAttribute('aria-expanded');\
         seen.broken=window.broken===undefined;seen.images=document.images.length;",
    );
    assert_eq!(seen["count"], "5,006 functions");
    // The rest comes as one scrolls: 5,000 rows at once would not be smooth.
    assert!(
        seen["rendered"].as_u64().expect("a number") <= 1_000,
        "{seen}"
    );
    assert_eq!(seen["first"], "accountClientMemory");
    assert_eq!(seen["bySelf"], "execute");
    assert_eq!(seen["sorted"], "descending");
    assert!(
        seen["byName"]
            .as_str()
            .expect("a name")
            .starts_with("</script>")
    );
    assert_eq!(seen["byNameDown"], "quiet_function_4999");
    assert_eq!(seen["filtered"], "100 of 5,006 functions");
    assert_eq!(seen["regressed"], 1);
    assert_eq!(seen["opened"], 1);
    assert_eq!(seen["expanded"], "true");
    assert_eq!(seen["broken"], true);
    assert_eq!(seen["images"], 0);
}

#[test]
fn the_flame_graph_in_the_report_is_searched_and_zoomed() {
    let dir = written();
    let seen = in_browser(
        &dir.path().join("report.html"),
        1200,
        "const svg=document.getElementById('flame-svg');\
         const frames=()=>[...svg.querySelectorAll('.frames > g')];\
         const named=(t)=>frames().find((g)=>g.textContent===t);\
         const width=(g)=>+g.querySelector('rect').getAttribute('width');\
         seen.frames=frames().length;\
         seen.red=frames().filter((g)=>/\\br\\d/.test(g.getAttribute('class'))).length;\
         type(document.getElementById('flame-search'),'^account');\
         seen.hits=frames().filter((g)=>g.classList.contains('hit')).length;\
         seen.details=svg.querySelector('.details').textContent;\
         type(document.getElementById('flame-search'),'');\
         const before=width(named('set'));click(named('set').querySelector('rect'));\
         const after=width(named('set'));seen.zoomed=after>4*before;\
         seen.ancestors=frames().filter((g)=>g.classList.contains('up')).length;\
         click(document.getElementById('flame-reset'));seen.reset=Math.abs(width(named('set'))-before)<1;\
         const tabs=[...document.querySelectorAll('[data-view]')];\
         click(tabs[1]);seen.baseView=svg.querySelector('.details').textContent;\
         seen.gone=frames().filter((g)=>g.getAttribute('class')==='g').length;\
         click(tabs[2]);seen.both=frames().filter((g)=>g.textContent==='main').length;\
         svg.focus();svg.dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowUp',bubbles:true}));\
         svg.dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowUp',bubbles:true}));\
         seen.walked=svg.querySelector('.details').textContent;",
    );
    assert!(seen["frames"].as_u64().expect("a number") > 20, "{seen}");
    assert_eq!(seen["red"], 1);
    assert_eq!(seen["hits"], 1);
    assert!(
        seen["details"]
            .as_str()
            .expect("text")
            .starts_with("matched 1."),
        "{seen}"
    );
    assert_eq!(seen["zoomed"], true);
    assert!(seen["ancestors"].as_u64().expect("a number") >= 4, "{seen}");
    assert_eq!(seen["reset"], true);
    assert!(
        seen["baseView"]
            .as_str()
            .expect("text")
            .starts_with("widths of base")
    );
    assert_eq!(seen["gone"], 1);
    assert_eq!(seen["both"], 2);
    assert!(
        seen["walked"]
            .as_str()
            .expect("text")
            .starts_with("little-server"),
        "{seen}"
    );
}

#[test]
fn the_picture_alone_is_searched_and_zoomed() {
    let dir = written();
    let seen = in_browser(
        &dir.path().join("diff.svg"),
        1000,
        "const svg=document.documentElement;\
         const frames=()=>[...svg.querySelectorAll('.frames > g')];\
         const named=(t)=>frames().find((g)=>g.textContent===t);\
         const width=(g)=>+g.querySelector('rect').getAttribute('width');\
         const button=(t)=>[...svg.querySelectorAll('.btn')].find((b)=>b.textContent===t);\
         seen.frames=frames().length;\
         const before=width(named('set'));click(named('set').querySelector('rect'));\
         seen.zoomed=width(named('set'))>4*before;click(button('Reset zoom'));\
         seen.reset=Math.abs(width(named('set'))-before)<1;\
         window.prompt=()=>'^(hash|compare)$';click(button('Search'));\
         seen.hits=frames().filter((g)=>g.classList.contains('hit')).length;click(button('Search'));\
         click(button('Base width'));seen.gone=frames().filter((g)=>g.getAttribute('class')==='g').length;\
         click(button('Side by side'));seen.both=frames().filter((g)=>g.textContent==='main').length;\
         const g=named('hash');const b=g.getBoundingClientRect();\
         g.querySelector('rect').dispatchEvent(new PointerEvent('pointermove',{bubbles:true,clientX:b.left+2,clientY:b.top+2}));\
         seen.tip=svg.querySelector('.tip').textContent;",
    );
    assert!(seen["frames"].as_u64().expect("a number") > 20, "{seen}");
    assert_eq!(seen["zoomed"], true);
    assert_eq!(seen["reset"], true);
    assert_eq!(seen["hits"], 2);
    assert_eq!(seen["gone"], 1);
    assert_eq!(seen["both"], 2);
    assert!(
        seen["tip"].as_str().expect("text").starts_with("hash"),
        "{seen}"
    );
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let dir = written();
    let seen = in_browser(
        &dir.path().join("report.html"),
        500,
        "seen.overflow=document.documentElement.scrollWidth-document.documentElement.clientWidth;\
         document.querySelectorAll('details').forEach((d)=>{d.open=true;});await wait(50);\
         seen.opened=document.documentElement.scrollWidth-document.documentElement.clientWidth;",
    );
    assert_eq!(seen["overflow"], 0);
    assert_eq!(seen["opened"], 0);
}
