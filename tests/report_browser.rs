//! The report and the differential flame graph in headless Chromium (Debian's `chromium`).
//!
//! The tests do with the pages what a person would: they click, type and press keys. Pictures of
//! what they see are written into `$PERFBLAME_SCREENSHOTS`, where that is set.

mod browser;

use std::fs;
use std::path::{Path, PathBuf};

use browser::{DESKTOP, PHONE, Page, Screen};
use perfblame::report::{CompareReport, Profiles, write_all};

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

fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    write_all(dir.path(), &report(), &profiles()).expect("it is written");
    dir
}

/// Opens one of the report's files.
fn open(dir: &tempfile::TempDir, name: &str, screen: Screen) -> Page {
    Page::open(&dir.path().join(name), screen)
}

#[test]
fn what_a_page_says_or_asks_for_is_seen() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(
        dir.path().join("loud.html"),
        "<!DOCTYPE html><img src=\"http://127.0.0.1:9/x.png\"><script>console.warn('a word');\
         setTimeout(() => { throw new Error('thrown'); }, 0)</script>",
    )
    .expect("it is written");
    let mut page = open(&dir, "loud.html", DESKTOP);
    page.eval("new Promise((done) => setTimeout(done, 200))");
    let console = page.console.join("\n");
    assert!(console.contains("a word"), "{console}");
    assert!(console.contains("thrown"), "{console}");
    assert!(page.requests.iter().any(|url| url.contains("x.png")));
}

const ROWS: &str = "[...document.querySelectorAll('#fn-table tr.row')]";
const FIRST: &str = "document.querySelector('#fn-table tr.row code').textContent";
const COUNT: &str = "document.getElementById('fn-count').textContent";

#[test]
fn functions_are_sorted_and_filtered() {
    let dir = written();
    let mut page = open(&dir, "report.html", DESKTOP);
    assert_eq!(page.text(COUNT), "5,006 functions");
    // The rest comes when asked for: 5,000 rows at once would not be smooth.
    assert_eq!(page.eval(&format!("{ROWS}.length")), 100);
    assert_eq!(page.text(FIRST), "accountClientMemory");

    let heading = |name: &str| format!("document.querySelector('th[data-sort={name}] button')");
    page.click(&heading("self"));
    assert_eq!(page.text(FIRST), "execute");
    assert_eq!(
        page.text("document.querySelector('th[data-sort=self]').ariaSort"),
        "descending"
    );
    page.click(&heading("name"));
    assert!(page.text(FIRST).starts_with("</script>"));
    page.click(&heading("name"));
    assert_eq!(page.text(FIRST), "quiet_function_4999");
    for column in ["verdict", "incl", "change", "p"] {
        page.click(&heading(column));
    }

    page.click("document.getElementById('fn-filter')");
    page.type_text("FUNCTION_49");
    page.wait_for(&format!("{COUNT} === '100 of 5,006 functions'"));
    page.eval("document.getElementById('fn-filter').select()");
    page.type_text("no such function");
    page.wait_for(&format!("{COUNT} === '0 of 5,006 functions'"));
    page.eval("document.getElementById('fn-filter').select()");
    page.type_text("account");
    page.wait_for(&format!("{COUNT} === '1 of 5,006 functions'"));
    page.click(&format!("{ROWS}[0].querySelector('td.name button')"));
    assert_eq!(page.eval("document.querySelectorAll('tr.more').length"), 1);
    assert_eq!(
        page.text(&format!("{ROWS}[0].querySelector('button').ariaExpanded")),
        "true"
    );
    page.screenshot("detail.png", false);
    page.click("document.querySelector('tr.more button')");
    assert_eq!(
        page.eval("document.querySelectorAll('#flame-svg .hit').length"),
        1
    );

    assert_eq!(page.eval("window.broken === undefined"), true);
    assert_eq!(page.eval("document.images.length"), 0);
    page.assert_quiet();
}

#[test]
fn verdicts_are_chosen_from_a_list() {
    let dir = written();
    let mut page = open(&dir, "report.html", DESKTOP);
    for (verdict, count) in [
        ("regressed", "1 of 5,006 functions"),
        ("changed", "3 of 5,006 functions"),
        ("gone", "1 of 5,006 functions"),
        ("new", "0 of 5,006 functions"),
        ("undecided", "5,002 of 5,006 functions"),
        ("", "5,006 functions"),
    ] {
        page.eval(&format!(
            "{{ const s = document.getElementById('fn-verdict'); s.value = '{verdict}'; \
             s.dispatchEvent(new Event('change')); }}"
        ));
        assert_eq!(page.text(COUNT), count, "{verdict}");
    }
    page.assert_quiet();
}

/// What is done for a keystroke does not grow with the number of functions that match.
#[test]
fn five_thousand_functions_stay_smooth() {
    let dir = written();
    let mut page = open(&dir, "report.html", DESKTOP);
    page.eval(
        "window.added = 0; new MutationObserver((list) => list.forEach((m) => { \
         window.added += m.addedNodes.length; }))\
         .observe(document.querySelector('#fn-table tbody'), { childList: true })",
    );
    page.click("document.getElementById('fn-filter')");
    page.type_text("quiet");
    page.wait_for(&format!("{COUNT} === '5,000 of 5,006 functions'"));
    assert_eq!(page.eval("window.added <= 200"), true);
    // More comes a chunk at a time.
    page.click("document.querySelector('#fn-more button')");
    assert_eq!(page.eval(&format!("{ROWS}.length")), 200);
    assert_eq!(page.eval("window.added <= 300"), true);
    page.assert_quiet();
}

const FRAMES: &str = "[...document.querySelectorAll('.pbf .frames > g')]";

fn frame(name: &str) -> String {
    format!("{FRAMES}.find((g) => g.textContent.startsWith('{name}'))")
}

fn width(page: &mut Page, name: &str) -> f64 {
    let width = page.eval(&format!(
        "+({}).querySelector('rect').getAttribute('width')",
        frame(name)
    ));
    width.as_f64().expect("a width")
}

#[test]
fn the_flame_graph_in_the_report_is_searched_and_zoomed() {
    let dir = written();
    let mut page = open(&dir, "report.html", DESKTOP);
    let details = "document.querySelector('.pbf .details').textContent";
    let red = format!("{FRAMES}.filter((g) => /\\br\\d/.test(g.getAttribute('class'))).length");
    assert_eq!(page.eval(&format!("{FRAMES}.length > 20")), true);
    assert_eq!(page.eval(&red), 1);

    page.click("document.getElementById('flame-search')");
    page.type_text("^account");
    assert_eq!(
        page.eval(&format!(
            "{FRAMES}.filter((g) => g.classList.contains('hit')).length"
        )),
        1
    );
    assert!(
        page.text(details).starts_with("matched 2."),
        "{}",
        page.text(details)
    );
    page.eval("document.getElementById('flame-search').select()");
    // A text that is no regular expression is searched as it stands.
    page.type_text("set(");
    page.eval("document.getElementById('flame-search').select()");
    page.key("Backspace");
    page.click("document.getElementById('flame-reset')");

    let before = width(&mut page, "set");
    page.click(&format!("({}).querySelector('rect')", frame("set")));
    assert!(width(&mut page, "set") > 4.0 * before);
    assert_eq!(
        page.eval(&format!(
            "{FRAMES}.filter((g) => g.classList.contains('up')).length >= 4"
        )),
        true
    );
    page.click("document.getElementById('flame-reset')");
    assert!((width(&mut page, "set") - before).abs() < 1.0);

    page.click("document.querySelectorAll('[data-view]')[1]");
    assert!(page.text(details).starts_with("widths of base"));
    let gone = format!("{FRAMES}.filter((g) => g.getAttribute('class') === 'g').length");
    assert_eq!(page.eval(&gone), 1);
    page.click("document.querySelectorAll('[data-view]')[2]");
    assert_eq!(
        page.eval(&format!(
            "{FRAMES}.filter((g) => g.textContent === 'main').length"
        )),
        2
    );
    // The plain graphs of each side have no colours of verdicts.
    page.click("document.querySelectorAll('[data-view]')[3]");
    assert_eq!(page.eval(&gone), 0);
    page.assert_quiet();
}

#[test]
fn the_picture_alone_is_searched_and_zoomed() {
    let dir = written();
    let mut page = open(&dir, "diff.svg", DESKTOP);
    page.screenshot("diff.png", false);
    let button = |name: &str| {
        format!("[...document.querySelectorAll('.btn')].find((b) => b.textContent === '{name}')")
    };
    let hits = format!("{FRAMES}.filter((g) => g.classList.contains('hit')).length");
    assert_eq!(page.eval(&format!("{FRAMES}.length > 20")), true);
    let before = width(&mut page, "set");
    page.click(&format!("({}).querySelector('rect')", frame("set")));
    assert!(width(&mut page, "set") > 4.0 * before);
    page.click(&button("Reset zoom"));
    assert!((width(&mut page, "set") - before).abs() < 1.0);

    page.eval("window.prompt = () => '^(hash|compare)$'");
    page.click(&button("Search"));
    assert_eq!(page.eval(&hits), 2);
    page.click(&button("Search"));
    assert_eq!(page.eval(&hits), 0);

    page.click(&button("Base width"));
    assert_eq!(
        page.eval(&format!(
            "{FRAMES}.filter((g) => g.getAttribute('class') === 'g').length"
        )),
        1
    );
    page.click(&button("Side by side"));
    assert_eq!(
        page.eval(&format!(
            "{FRAMES}.filter((g) => g.textContent === 'main').length"
        )),
        2
    );
    page.click(&button("Head width"));

    // Hover: shares, cost per operation, interval and verdict.
    page.point_at(&format!("({}).querySelector('rect')", frame("account")));
    let tip = page.text("document.querySelector('.tip').textContent");
    for part in ["accountClientMemory", " % ", "ns/op", "95 %:", "regressed"] {
        assert!(tip.contains(part), "{part}: {tip}");
    }
    page.screenshot("hover.png", false);
    page.assert_quiet();
}

#[test]
fn everything_is_reached_by_keyboard() {
    let dir = written();
    let mut page = open(&dir, "report.html", DESKTOP);
    // A slash goes to the filter of functions, Tab on from there to the list and the headings.
    page.eval("document.body.focus()");
    page.ask(
        "Input.dispatchKeyEvent",
        serde_json::json!({ "type": "keyDown", "key": "/", "text": "/" }),
    );
    let active = "document.activeElement.id || document.activeElement.textContent";
    assert_eq!(page.text(active), "fn-filter");
    assert_eq!(page.text("document.getElementById('fn-filter').value"), "");
    page.key("Tab");
    assert_eq!(page.text(active), "fn-verdict");
    page.key("Tab");
    page.key("Tab");
    assert_eq!(page.text(active), "function");
    page.key("Enter");
    assert!(page.text(FIRST).starts_with("</script>"));
    // The flame graph: arrow keys walk, Enter zooms, Escape resets.
    page.eval("document.getElementById('flame-svg').focus()");
    for key in ["ArrowUp", "ArrowUp", "ArrowUp"] {
        page.key(key);
    }
    let details = page.text("document.querySelector('.pbf .details').textContent");
    assert!(details.starts_with("main: "), "{details}");
    page.key("Enter");
    assert_eq!(
        page.eval(&format!("{FRAMES}.some((g) => g.classList.contains('up'))")),
        true
    );
    page.key("Escape");
    assert_eq!(
        page.eval(&format!("{FRAMES}.some((g) => g.classList.contains('up'))")),
        false
    );
    page.assert_quiet();
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let dir = written();
    let mut page = open(&dir, "report.html", PHONE);
    page.screenshot("phone.png", false);
    let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(page.eval(overflow), 0);
    page.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    page.click(&format!("{ROWS}[0].querySelector('td.name button')"));
    assert_eq!(page.eval(overflow), 0);
    page.screenshot("phone-functions.png", false);
    page.eval("document.getElementById('flame').scrollIntoView({ behavior: 'instant' })");
    page.screenshot("phone-flame.png", false);
    page.assert_quiet();
}

/// Title, lines below it, buttons and legend stand within the picture and not on one another.
#[test]
fn the_head_of_the_picture_fits_any_width() {
    let dir = written();
    for screen in [DESKTOP, PHONE] {
        let mut page = open(&dir, "diff.svg", screen);
        page.screenshot(&format!("diff-{}.png", screen.width), false);
        let boxes = "[...document.querySelectorAll('.title, .sub, .btn, .key')]\
                     .map((e) => e.getBoundingClientRect())";
        assert_eq!(
            page.eval(&format!(
                "{boxes}.filter((b) => b.left < 0 || b.right > innerWidth).length"
            )),
            0
        );
        let overlaps = page.eval(&format!(
            "(() => {{ const all = {boxes}; let n = 0; all.forEach((a, i) => all.slice(i + 1).forEach((b) => {{ \
             if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4) n++; }})); \
             return n; }})()"
        ));
        assert_eq!(overlaps, 0);
        page.assert_quiet();
    }
}

#[test]
fn light_and_dark_follow_the_system_until_switched() {
    let dir = written();
    let background = "getComputedStyle(document.body).backgroundColor";
    let mut light = open(&dir, "report.html", DESKTOP);
    light.screenshot("light.png", false);
    let light_colour = light.text(background);
    let mut dark = open(
        &dir,
        "report.html",
        Screen {
            dark: true,
            ..DESKTOP
        },
    );
    dark.screenshot("dark.png", false);
    let dark_colour = dark.text(background);
    assert_ne!(light_colour, dark_colour);
    dark.click("document.getElementById('theme')");
    assert_eq!(dark.text(background), light_colour);
    light.click("document.getElementById('theme')");
    assert_eq!(light.text(background), dark_colour);
    light.assert_quiet();
    dark.assert_quiet();
}
