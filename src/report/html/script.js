"use strict";
(function () {
  const $ = (id) => document.getElementById(id);
  const json = (id) => JSON.parse($(id).textContent);

  // Theme: the system's until it is switched.
  const root = document.documentElement;
  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  document.querySelectorAll("[data-copy]").forEach((b) => b.addEventListener("click", () => {
    const pre = b.parentElement.querySelector("pre");
    const done = () => { b.textContent = "copied"; setTimeout(() => { b.textContent = "copy"; }, 1500); };
    const select = () => { const r = document.createRange(); r.selectNodeContents(pre); const s = getSelection(); s.removeAllRanges(); s.addRange(r); };
    if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(done, select); else select();
  }));
  const openTarget = () => {
    const target = location.hash && document.querySelector(CSS.escape ? "#" + CSS.escape(location.hash.slice(1)) : location.hash);
    const details = target && target.querySelector(":scope > details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));

  // Flame graph.
  const flameData = json("flame-data");
  let flame = null;
  if (flameData) {
    flame = perfblameFlame($("flame-svg"), flameData);
    const tabs = [...document.querySelectorAll("[data-view]")];
    tabs.forEach((tab) => tab.addEventListener("click", () => {
      tabs.forEach((t) => t.setAttribute("aria-pressed", t === tab));
      flame.setPlain(!!tab.dataset.plain);
      flame.setView(+tab.dataset.view);
    }));
    const input = $("flame-search");
    input.addEventListener("input", () => flame.search(input.value));
    $("flame-reset").addEventListener("click", () => { input.value = ""; flame.search(""); flame.reset(); });
  }

  // Functions.
  const table = $("fn-table");
  if (!table) return;
  const rows = json("fn-data"), body = table.tBodies[0];
  const NAME = 0, MODULE = 1, STATUS = 2, OWN = 3, SELF = 4, INCL = 5, NOTES = 6, GROUP = 7;
  const BASE = 0, HEAD = 1, BASE_NS = 2, HEAD_NS = 3, CHANGE = 4, CI = 5, P = 6, ADJ = 7, VERDICT = 8, POINTS = 9, DETECT = 10, BLOCKS = 11;
  const minus = (s) => s.replace("-", "−");
  const share = (x) => x === null ? "–" : x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2);
  const pct = (x) => {
    if (x === null) return "–";
    const m = Math.abs(x), t = m >= 99.95 ? m.toFixed(0) : m >= 9.995 ? m.toFixed(1) : m.toFixed(2);
    return (+t === 0 ? "" : x < 0 ? "−" : "+") + t;
  };
  const prob = (p) => p === null ? "–" : p < 0.001 ? "< .001" : p >= 0.9995 ? "1" : p.toFixed(p < 0.1 ? 3 : 2).replace(/^0/, "");
  const num = (x) => x === null ? "–" : minus(x.toLocaleString("en-US", { maximumSignificantDigits: 4 }));
  const telling = (r) => (r[OWN] ? r[SELF] : r[INCL]);
  const order = { regressed: 0, improved: 1, undecided: 2, equivalent: 3 };
  const last = (x) => (x === null || x === undefined ? -Infinity : x);
  const sorts = {
    verdict: [(r) => -order[telling(r)[VERDICT]] * 1e6 + Math.max(r[INCL][BASE], r[INCL][HEAD]), true],
    name: [(r) => r[NAME].toLowerCase(), false],
    self: [(r) => Math.max(r[SELF][BASE], r[SELF][HEAD]), true],
    incl: [(r) => Math.max(r[INCL][BASE], r[INCL][HEAD]), true],
    change: [(r) => r[STATUS] === "new" ? 1e9 : r[STATUS] === "gone" ? -1e9 : last(telling(r)[CHANGE]), true],
    p: [(r) => { const p = telling(r)[ADJ]; return p === null ? 2 : p; }, false],
  };
  let most = 1e-9;
  rows.forEach((r, i) => { most = Math.max(most, r[SELF][BASE], r[SELF][HEAD]); r.index = i; r.text = (r[NAME] + "\n" + r[MODULE]).toLowerCase(); });
  let shown = rows, limit = 0, sort = null;
  const CHUNK = 100;

  const make = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const moreButton = make("button");
  $("fn-more").replaceChildren(moreButton);
  function bars(cell, cost, scale) {
    const box = make("span", "bars");
    const i = make("i"), b = make("b");
    i.style.width = Math.min(100, 100 * (cost[BASE] || 0) / scale) + "%";
    b.style.width = Math.min(100, 100 * (cost[HEAD] || 0) / scale) + "%";
    box.append(i, b);
    cell.append(box);
  }
  // Place on a scale that is straight near zero and ends at all and at nothing.
  const place = (x) => { const l = Math.log2(Math.max(1 + x / 100, 1e-3)); return 50 + 50 * Math.tanh(l / 1.2); };
  function forest(cell, cost) {
    if (cost[CHANGE] === null) return;
    const box = make("span", "forest");
    if (cost[CI] && cost[CI][0] !== null && cost[CI][1] !== null) {
      const i = make("i"), a = place(cost[CI][0]);
      i.style.left = a + "%";
      i.style.width = place(cost[CI][1]) - a + "%";
      box.append(i);
      box.title = "95 % interval " + pct(cost[CI][0]) + " to " + pct(cost[CI][1]) + " %";
    }
    const b = make("b");
    b.style.left = place(cost[CHANGE]) + "%";
    box.append(b);
    cell.append(box);
  }
  function row(r) {
    const cost = telling(r), tr = make("tr", "row " + cost[VERDICT]);
    const verdict = make("td");
    verdict.append(make("span", "pill " + cost[VERDICT], cost[VERDICT]));
    const name = make("td", "name"), button = make("button");
    button.setAttribute("aria-expanded", "false");
    button.append(make("code", "", r[NAME]));
    name.append(button);
    if (r[GROUP]) name.append(make("span", "tag", "group"));
    if (r[STATUS]) name.append(make("span", "tag", r[STATUS]));
    if (r[MODULE]) name.append(make("span", "mod", r[MODULE]));
    r[NOTES].forEach((n) => name.append(make("span", "note", n)));
    const self = make("td", "num", share(r[SELF][BASE]) + " → " + share(r[SELF][HEAD]));
    bars(self, r[SELF], most);
    const incl = make("td", "num", share(r[INCL][BASE]) + " → " + share(r[INCL][HEAD]));
    bars(incl, r[INCL], 100);
    const change = make("td", "num", r[STATUS] ? r[STATUS] : cost[CHANGE] === null ? "–" : pct(cost[CHANGE]) + " % ");
    change.append(make("span", "dim", r[OWN] ? " self" : " with callees"));
    forest(change, cost);
    tr.append(verdict, name, self, incl, change, make("td", "num", prob(cost[ADJ])));
    tr.pbRow = r;
    return tr;
  }
  function detail(r) {
    const tr = make("tr", "more"), td = make("td");
    td.colSpan = 6;
    const t = make("table"), head = make("tr");
    ["", "base", "head", "change", "95 % interval", "p", "p adj.", "detectable", "blocks to decide", "verdict"].forEach((h) => head.append(make("th", "", h)));
    t.append(head);
    [["self", r[SELF]], ["with callees", r[INCL]]].forEach(([label, c]) => {
      const line = make("tr");
      [label, num(c[BASE_NS]) + " ns/op", num(c[HEAD_NS]) + " ns/op", c[CHANGE] === null ? "–" : pct(c[CHANGE]) + " %", c[CI] ? pct(c[CI][0]) + " to " + pct(c[CI][1]) + " %" : "–", prob(c[P]), prob(c[ADJ]), c[DETECT] === null ? "–" : pct(c[DETECT]).replace("+", "") + " %", c[BLOCKS] === null ? "–" : String(c[BLOCKS]), c[VERDICT]].forEach((v) => line.append(make("td", "", v)));
      t.append(line);
    });
    td.append(t);
    if (flame && !r[GROUP]) {
      const b = make("button", "", "find in the flame graph");
      b.addEventListener("click", (e) => {
        e.stopPropagation();
        const text = "^" + r[NAME].replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "(_\\[k\\])?$";
        $("flame-search").value = text;
        flame.search(text);
        $("flame").scrollIntoView();
      });
      td.append(b);
    }
    tr.append(td);
    return tr;
  }
  function more() {
    const list = document.createDocumentFragment();
    const to = Math.min(limit + CHUNK, shown.length);
    for (; limit < to; limit++) list.append(row(shown[limit]));
    body.append(list);
    const left = shown.length - limit;
    moreButton.hidden = !left;
    moreButton.textContent = "show " + Math.min(CHUNK, left) + " more of " + left.toLocaleString("en-US");
  }
  function render() {
    const text = $("fn-filter").value.trim().toLowerCase(), verdict = $("fn-verdict").value;
    shown = rows.filter((r) => {
      if (text && !r.text.includes(text)) return false;
      const v = telling(r)[VERDICT];
      return !verdict || v === verdict || r[STATUS] === verdict || (verdict === "changed" && (v === "regressed" || v === "improved"));
    });
    if (sort) {
      const [key, sign] = sort, keyed = shown.map((r) => [key(r), r]);
      keyed.sort((a, b) => (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : a[1].index - b[1].index));
      shown = keyed.map((k) => k[1]);
    }
    $("fn-count").textContent = shown.length.toLocaleString("en-US") + (shown.length === rows.length ? "" : " of " + rows.length.toLocaleString("en-US")) + (rows.length === 1 ? " function" : " functions");
    body.replaceChildren();
    limit = 0;
    more();
  }
  table.querySelectorAll("th[data-sort]").forEach((th) => {
    const b = make("button", "", th.textContent);
    th.replaceChildren(b);
    b.addEventListener("click", () => {
      const [key, down] = sorts[th.dataset.sort];
      const before = th.getAttribute("aria-sort");
      const descending = before ? before === "ascending" : down;
      table.querySelectorAll("th").forEach((t) => t.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort = [key, descending ? -1 : 1];
      render();
    });
  });
  body.addEventListener("click", (e) => {
    const tr = e.target.closest("tr.row");
    if (!tr || (e.target.tagName !== "BUTTON" && String(getSelection()))) return;
    const open = tr.nextSibling && tr.nextSibling.className === "more";
    if (open) tr.nextSibling.remove(); else tr.after(detail(tr.pbRow));
    tr.querySelector("button").setAttribute("aria-expanded", String(!open));
  });
  let timer = 0;
  $("fn-filter").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(render, 60); });
  $("fn-verdict").addEventListener("change", render);
  addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); $("fn-filter").focus(); }
  });
  moreButton.addEventListener("click", more);
  render();
})();
