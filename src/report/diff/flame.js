"use strict";
// Makes a flame graph of two profiles live. `svg` is the element that Rust drew, `d` its data
// (see data.rs). Returns what a page around it may call.
function perfblameFlame(svg, d) {
  const height = +svg.getAttribute("height");
  const NS = "http://www.w3.org/2000/svg", ROW = 17, PAD = 10, MIN = 0.4, GAP = 24;
  const part = (name) => svg.querySelector(":scope > ." + name);
  const framesG = part("frames"), tip = part("tip"), ui = part("ui"), legend = part("legend"), details = part("details");
  const top = +svg.dataset.top, rows = +svg.dataset.rows, titled = top > 60;
  const title = part("title"), titleText = svg.getAttribute("aria-label");
  const subs = () => [...svg.querySelectorAll(":scope > .sub")];
  const subWords = subs().map((t) => t.textContent).join(" ").split(" "), subLines = subs().length;
  const n = d.f.length / 6;
  const depth = new Int32Array(n), fn = new Int32Array(n), parent = new Int32Array(n), end = new Int32Array(n);
  const value = [new Float64Array(n), new Float64Array(n)], own = [new Float64Array(n), new Float64Array(n)];
  const start = [new Float64Array(n), new Float64Array(n)];
  const total = [d.b, d.h];
  const path = [];
  const next = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++) {
    const o = i * 6, k = depth[i] = d.f[o];
    fn[i] = d.f[o + 1];
    value[0][i] = d.f[o + 2]; value[1][i] = d.f[o + 3];
    own[0][i] = d.f[o + 4]; own[1][i] = d.f[o + 5];
    while (path.length > k) end[path.pop()] = i;
    const p = parent[i] = k ? path[k - 1] : 0;
    for (let s = 0; s < 2; s++) {
      const x = k ? next[s][p] : 0;
      start[s][i] = x;
      next[s][i] = x;
      if (k) next[s][p] += value[s][i];
    }
    path.push(i);
  }
  while (path.length) end[path.pop()] = n;

  // view: 0 base's widths, 1 head's widths, 2 side by side
  let view = d.h ? 1 : 0, focus = 0, regex = null, key = -1, at = -1, plain = false, drawn = [];
  const name = (i) => (depth[i] ? d.n[fn[i]] : "all");
  const el = (tag, attributes, text) => {
    const e = document.createElementNS(NS, tag);
    for (const a in attributes) e.setAttribute(a, attributes[a]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const pct = (x, of) => {
    if (!of) return "–";
    const p = 100 * x / of;
    return p >= 99.95 ? p.toFixed(0) : p >= 9.995 ? p.toFixed(1) : p.toFixed(2);
  };
  const count = (x) => x.toLocaleString("en-US");
  let char = 7.2;
  function measure() {
    const t = el("text", { x: 0, y: -100 }, "0123456789".repeat(5));
    framesG.appendChild(t);
    const w = t.getComputedTextLength();
    if (w > 0) char = w / 50;
    t.remove();
  }
  function width() {
    return Math.max(320, Math.floor(svg.getBoundingClientRect().width) || 1200);
  }
  const warm = (i) => {
    let h = 0;
    const s = name(i);
    for (let k = 0; k < s.length; k++) h = (h * 31 + s.charCodeAt(k)) >>> 0;
    return "w" + h % 5;
  };
  function draw() {
    const W = width(), sides = view === 2 ? [0, 1] : [view];
    const panel = (W - 2 * PAD - (sides.length - 1) * GAP) / sides.length;
    const list = document.createDocumentFragment();
    drawn = [];
    sides.forEach((s, which) => {
      const x0 = PAD + which * (panel + GAP), whole = value[s][focus];
      if (!whole) {
        const where = focus ? name(focus) + " has" : "there are";
        list.appendChild(el("text", { x: x0, y: top + rows * ROW - 5, class: "panel" }, where + " no samples in " + d.labels[s]));
        return;
      }
      const scale = panel / whole, from = start[s][focus];
      const frame = (i, x, w, extra) => {
        const c = (depth[i] ? (plain ? warm(i) : d.c[fn[i]]) : "z0") + extra;
        const g = el("g", { class: c });
        const y = top + (rows - 1 - depth[i]) * ROW;
        g.appendChild(el("rect", { x: x.toFixed(2), y: y, width: Math.max(w - (w > 3 ? 0.6 : 0), MIN).toFixed(2), height: ROW - 1, rx: w > 6 ? 1.5 : 0 }));
        const room = Math.floor((w - 6) / char);
        if (room >= 3) {
          const t = name(i);
          g.appendChild(el("text", { x: (x + 3).toFixed(2), y: y + 12 }, t.length <= room ? t : t.slice(0, room - 2) + ".."));
        }
        g.pbf = i;
        drawn.push(g);
        list.appendChild(g);
      };
      const marks = (i) => (regex && depth[i] && regex.test(name(i)) ? " hit" : "") + (key >= 0 && !(depth[i] && d.l[fn[i]] === key) ? " off" : "") + (i === at ? " at" : "");
      for (let p = focus; p !== 0;) {
        p = parent[p];
        frame(p, x0, panel, " up" + marks(p));
      }
      for (let i = focus; i < end[focus];) {
        const w = value[s][i] * scale;
        if (w < MIN) { i = end[i]; continue; }
        frame(i, x0 + (start[s][i] - from) * scale, w, marks(i));
        i++;
      }
      if (view === 2) {
        list.appendChild(el("text", { x: x0, y: top + rows * ROW + 10, class: "panel" }, d.labels[s] + ", " + count(total[s]) + " samples"));
      }
    });
    framesG.replaceChildren(list);
    fitHead(W);
    buttons(W);
    say(at >= 0 ? at : -1);
  }
  function say(i) {
    if (i >= 0) {
      details.textContent = name(i) + ": " + pct(value[0][i], total[0]) + " → " + pct(value[1][i], total[1]) + " % of samples";
    } else if (regex) {
      const m = matched();
      details.textContent = "matched " + pct(m[0], total[0]) + " % of base, " + pct(m[1], total[1]) + " % of head";
    } else {
      details.textContent = view === 2 ? "" : (view ? "widths of " + d.labels[1] : "widths of " + d.labels[0]) + ", " + count(total[view]) + " samples";
    }
  }
  function matched() {
    const sum = [0, 0];
    for (let i = 1; i < n;) {
      if (regex.test(name(i))) {
        sum[0] += value[0][i]; sum[1] += value[1][i];
        i = end[i];
      } else i++;
    }
    return sum;
  }
  function button(x, y, w, text, selected, act) {
    const g = el("g", { class: "btn" + (selected ? " sel" : ""), tabindex: 0, role: "button", "aria-pressed": selected });
    g.appendChild(el("rect", { x: x, y: y, width: w, height: 20, rx: 4 }));
    g.appendChild(el("text", { x: x + w / 2, y: y + 14 }, text));
    g.addEventListener("click", (e) => { e.stopPropagation(); act(); });
    g.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); e.stopPropagation(); act(); }
    });
    ui.appendChild(g);
  }
  function buttons(W) {
    if (!titled) return;
    const active = document.activeElement, held = ui.contains(active) ? [...ui.children].indexOf(active) : -1;
    ui.replaceChildren();
    let x = W - PAD;
    const put = (w, text, selected, act) => { x -= w; button(x, 0, w, text, selected, act); x -= 6; };
    const narrow = W < 560;
    put(64, "Search", !!regex, searchPrompt);
    if (!narrow || focus) put(narrow ? 54 : 86, narrow ? "Reset" : "Reset zoom", false, () => zoom(0));
    x = PAD;
    (narrow ? [["Head", 1], ["Base", 0], ["Both", 2]] : [["Head width", 1], ["Base width", 0], ["Side by side", 2]]).forEach(([text, v]) => {
      const w = text.length * char + 14;
      button(x, 0, w, text, view === v, () => setView(v));
      x += w + 6;
    });
    if (held >= 0 && ui.children[held]) ui.children[held].focus();
  }
  // Fits title, lines and legend to the width. What they need beyond the drawing's room moves the rest down.
  function fitHead(W) {
    let down = 0;
    if (titled) {
      const most = Math.max(10, Math.floor((W - 2 * PAD) / (char * 1.42)));
      title.textContent = titleText.length > most ? titleText.slice(0, most - 1) + "…" : titleText;
      const room = Math.max(20, Math.floor((W - 2 * PAD) / char)), lines = [""];
      subWords.forEach((word) => {
        const line = lines[lines.length - 1];
        if (line && line.length + 1 + word.length > room) lines.push(word);
        else lines[lines.length - 1] = line ? line + " " + word : word;
      });
      subs().forEach((t) => t.remove());
      lines.forEach((line, k) => title.parentNode.insertBefore(el("text", { x: "50%", y: 46 + 16 * k, class: "sub" }, line), legend));
      down = (lines.length - subLines) * 16;
    }
    let x = PAD, row = 0;
    [...legend.querySelectorAll(".key")].forEach((g) => {
      const rect = g.querySelector("rect"), w = 33 + g.textContent.length * char;
      if (x > PAD && x + w > W) { x = PAD; row++; }
      g.setAttribute("transform", "translate(" + (x - rect.getAttribute("x")) + "," + (row * 17 + down) + ")");
      x += w;
    });
    ui.setAttribute("transform", "translate(0," + (top - 54 + down) + ")");
    down += row * 17;
    framesG.setAttribute("transform", "translate(0," + down + ")");
    details.setAttribute("transform", "translate(0," + down + ")");
    svg.setAttribute("height", height + down);
  }
  function setView(v) { view = v; draw(); }
  function zoom(i) { focus = i; hide(); draw(); }
  function search(text) {
    regex = null;
    if (text) {
      try { regex = new RegExp(text); } catch (e) { regex = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")); }
    }
    at = -1;
    draw();
    return regex ? matched().map((m, s) => pct(m, total[s])) : null;
  }
  function searchPrompt() {
    if (regex) return search("");
    const text = prompt("Regular expression to search for:", "");
    if (text) search(text);
  }
  function hide() { tip.replaceChildren(); }
  function show(i, px, py) {
    const lines = [name(i)];
    const both = (s) => pct(s[0][i], total[0]) + " → " + pct(s[1][i], total[1]) + " %  (" + count(s[0][i]) + " → " + count(s[1][i]) + ")";
    lines.push("here " + both(value), "here, self " + both(own));
    if (depth[i] && d.t[fn[i]]) lines.push(...d.t[fn[i]].split("\n"));
    const W = width(), H = svg.getBoundingClientRect().height;
    const most = Math.max(20, Math.floor((W - 24) / char));
    const text = el("text", {});
    let longest = 0;
    lines.forEach((line, k) => {
      const shown = line.length > most ? line.slice(0, most - 1) + "…" : line;
      longest = Math.max(longest, shown.length);
      text.appendChild(el("tspan", { x: 8, y: 16 + k * 15, class: k ? "" : "b" }, shown));
    });
    const w = longest * char + 16, h = lines.length * 15 + 10;
    const x = Math.min(Math.max(4, px + 14), W - w - 4);
    let y = py + 18;
    if (y + h > H - 2) y = Math.max(2, py - h - 10);
    tip.replaceChildren(el("rect", { width: w, height: h, rx: 4 }), text);
    tip.setAttribute("transform", "translate(" + Math.max(2, x) + "," + y + ")");
  }
  const hit = (e) => {
    const g = e.target.closest && e.target.closest("g");
    return g && g.pbf !== undefined ? g.pbf : -1;
  };
  framesG.addEventListener("pointermove", (e) => {
    const i = hit(e);
    if (i < 0) return hide();
    const box = svg.getBoundingClientRect();
    show(i, e.clientX - box.left, e.clientY - box.top);
    say(i);
    if (view === 2) drawn.forEach((g) => g.classList.toggle("twin", g.pbf === i));
  });
  framesG.addEventListener("pointerleave", () => {
    hide();
    say(-1);
    drawn.forEach((g) => g.classList.remove("twin"));
  });
  svg.addEventListener("click", (e) => {
    const i = hit(e);
    if (i >= 0) { at = -1; zoom(i); } else if (e.target.classList.contains("bg")) zoom(0);
  });
  legend.addEventListener("click", (e) => {
    const g = e.target.closest(".key");
    if (!g) return;
    key = key === +g.dataset.key ? -1 : +g.dataset.key;
    legend.querySelectorAll(".key").forEach((k) => k.classList.toggle("sel", +k.dataset.key === key));
    draw();
  });
  const visible = (i) => value[view === 2 ? 1 : view][i] > 0 || (view === 2 && value[0][i] > 0);
  function sibling(i, step) {
    const p = parent[i];
    let before = -1;
    for (let k = p + 1; k < end[p]; k = end[k]) {
      if (!visible(k)) continue;
      if (step > 0 && k > i) return k;
      if (k >= i) return before < 0 ? i : before;
      before = k;
    }
    return step < 0 && before >= 0 ? before : i;
  }
  function widestChild(i) {
    const s = view === 2 ? 1 : view;
    let best = i;
    for (let k = i + 1; k < end[i]; k = end[k]) if (visible(k) && (best === i || value[s][k] > value[s][best])) best = k;
    return best;
  }
  svg.addEventListener("keydown", (e) => {
    if (e.target !== svg) return;
    const here = at < 0 ? focus : at;
    const moves = { ArrowUp: () => widestChild(here), ArrowDown: () => parent[here], ArrowLeft: () => sibling(here, -1), ArrowRight: () => sibling(here, 1) };
    if (moves[e.key]) { at = at < 0 ? focus : moves[e.key](); draw(); }
    else if (e.key === "Enter" && at >= 0) zoom(at);
    else if (e.key === "Escape") { at = -1; key = -1; search(""); zoom(0); }
    else return;
    e.preventDefault();
    if (at >= 0) {
      const g = drawn.find((g) => g.pbf === at);
      if (g) {
        const b = g.getBoundingClientRect(), box = svg.getBoundingClientRect();
        show(at, b.left - box.left, b.top - box.top);
        if (g.scrollIntoView) g.scrollIntoView({ block: "nearest" });
      }
    }
  });
  if (titled) window.addEventListener("keydown", (e) => {
    if (e.key === "F3" || (e.ctrlKey && e.key === "f")) { e.preventDefault(); searchPrompt(); }
  });
  svg.removeAttribute("viewBox");
  svg.setAttribute("width", "100%");
  svg.setAttribute("tabindex", "0");
  svg.removeAttribute("role");
  let seen = 0;
  const fit = () => { const w = width(); if (w !== seen) { seen = w; draw(); } };
  if (window.ResizeObserver) new ResizeObserver(fit).observe(svg); else window.addEventListener("resize", fit);
  measure();
  fit();
  return { search, setView, zoom, reset: () => zoom(0), redraw: draw, setPlain: (on) => { plain = on; draw(); }, state: () => ({ view, focus, drawn: drawn.length, total: n }), find: (text) => { for (let i = 1; i < n; i++) if (name(i) === text) return i; return -1; } };
}
