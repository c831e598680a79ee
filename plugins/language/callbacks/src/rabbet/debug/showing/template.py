"""The page without its content: style, places for the parts, script. It asks for nothing from elsewhere."""

DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title><!--title--></title>
<style>
:root { color-scheme: light dark; --line: #8884; --dim: #777; --mark: #f5c54288; --bar: #4a90d955; }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; font: 14px/1.4 system-ui, sans-serif; }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1rem; }
@media (max-width: 900px) { main { grid-template-columns: minmax(0, 1fr); } }
h1 { font-size: 1.2rem; margin: 0 0 .5rem; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
dl { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; margin: 0 0 1rem; }
dt { color: var(--dim); font-size: 12px; }
dd { margin: 0; }
.scroll, pre { overflow: auto; max-height: 75vh; border: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-size: 12px; }
td, th { padding: 1px 6px; text-align: right; white-space: pre; font-weight: normal; }
thead th { white-space: normal; vertical-align: bottom; color: var(--dim); position: sticky; top: 0;
           background: Canvas; }
td.code { width: 100%; min-width: 10rem; max-width: 0; overflow: hidden; text-overflow: ellipsis; }
td.marks { text-align: left; padding: 1px 0; }
td.code, th.file, thead th:nth-child(2) { text-align: left; }
th.file { color: var(--dim); padding-top: .5rem; }
td.bar { background: linear-gradient(to left, var(--bar) var(--share), transparent var(--share)); }
abbr { color: var(--dim); border: 1px solid var(--line); border-radius: 3px; padding: 0 3px; }
pre { margin: 0; padding: .5rem 0; font-size: 12px; }
pre span { display: block; padding: 0 .5rem; min-width: max-content; }
pre, code { font-family: ui-monospace, monospace; }
[data-at] { cursor: pointer; }
.lit { background: var(--mark); }
[role=tab] { font: inherit; padding: .2rem .6rem; border: 1px solid var(--line); background: none;
             color: inherit; cursor: pointer; }
[role=tab][aria-selected=true] { background: var(--bar); }
section p, .note { color: var(--dim); font-size: 12px; margin: .4rem 0; }
</style>
</head>
<body>
<h1><!--title--></h1>
<dl><!--facts--></dl>
<main>
<div>
<h2>By line</h2>
<div class="scroll"><table>
<thead><tr><th>line</th><th>source</th><th></th><th>operations</th><th>bytes touched</th>
<th>bytes made</th><th>equations</th></tr></thead>
<tbody><!--source--></tbody></table></div>
<p class="note">Counted for each operation by itself, before anything is fused: the compiled program reads and
writes less. Loops of known length count as often as they run, branches each as if taken.
Click a line to see where it is in the program.</p>
</div>
<div>
<div role="tablist"><!--tabs--></div>
<!--panels-->
</div>
</main>
<script>
"use strict";
const tabs = [...document.querySelectorAll("[role=tab]")];
const panels = [...document.querySelectorAll("[role=tabpanel]")];
let chosen = null;
function light(at) {
  for (const e of document.querySelectorAll(".lit")) e.classList.remove("lit");
  if (at === null) return;
  for (const e of document.querySelectorAll(`[data-at="${at}"]`)) e.classList.add("lit");
}
function reveal() {
  if (chosen === null) return;
  const panel = panels.find((p) => !p.hidden);
  const first = panel.querySelector(`[data-at="${chosen}"]`);
  if (first) first.parentElement.scrollTop = first.offsetTop - first.parentElement.offsetTop - 40;
}
function select(i) {
  tabs.forEach((t, k) => t.setAttribute("aria-selected", String(k === i)));
  panels.forEach((p, k) => { p.hidden = k !== i; });
  reveal();
}
tabs.forEach((t, i) => t.addEventListener("click", () => select(i)));
document.addEventListener("keydown", (e) => {
  const i = tabs.indexOf(document.activeElement);
  const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
  if (i < 0 || !step) return;
  const next = (i + step + tabs.length) % tabs.length;
  tabs[next].focus();
  select(next);
});
document.addEventListener("mouseover", (e) => {
  const under = e.target.closest("[data-at]");
  light(under ? under.dataset.at : chosen);
});
document.addEventListener("click", (e) => {
  const under = e.target.closest("[data-at]");
  if (!under) return;
  chosen = chosen === under.dataset.at ? null : under.dataset.at;
  light(chosen);
  if (under.closest("table")) reveal();
});
</script>
</body>
</html>
"""
