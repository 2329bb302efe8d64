/**
 * The script of the page. It makes elements and sets their text, never HTML, so that a name cannot
 * become markup. Its requests carry the token from the fragment, which browsers do not send.
 */
export const pageScript = `"use strict";
const token = location.hash.slice(1);
const byId = (id) => document.getElementById(id);
const opened = new Map();
const mostRows = 500;
let state, drawn = "", timer;

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return s + "s";
  if (s < 7200) return Math.floor(s / 60) + "m";
  if (s < 172800) return Math.floor(s / 3600) + "h";
  return Math.floor(s / 86400) + "d";
}

function badge(text, kind) {
  return element("span", "badge " + kind, text);
}

function meter(part, whole) {
  const space = "http://www.w3.org/2000/svg";
  const made = document.createElementNS(space, "svg");
  made.setAttribute("class", "meter");
  made.setAttribute("viewBox", "0 0 100 8");
  made.setAttribute("preserveAspectRatio", "none");
  made.setAttribute("aria-hidden", "true");
  for (const [kind, width] of [["", 100], ["done", whole === 0 ? 0 : (100 * part) / whole]]) {
    const bar = document.createElementNS(space, "rect");
    bar.setAttribute("class", kind);
    bar.setAttribute("width", String(width));
    bar.setAttribute("height", "8");
    bar.setAttribute("rx", "4");
    made.append(bar);
  }
  return made;
}

function targetRows(source) {
  const failed = new Set(source.failures.map(({ target }) => target));
  const paused = new Set(source.paused);
  const rows = source.failures.map(({ target, reason, message }) =>
    element("li", "", element("span", "where", target), badge(reason, "bad"), element("p", "text", message)));
  const word = source.synced + failed.size < source.desired ? "exists" : "synced";
  for (const target of source.targets ?? []) {
    if (failed.has(target)) continue;
    const mark = paused.has(target) ? badge("paused", "warn") : badge(word, "");
    rows.push(element("li", "", element("span", "where", target), mark));
  }
  const hidden = source.desired - (source.targets ?? source.failures).length;
  if (source.targets === undefined && hidden > 0)
    rows.push(element("li", "", element("span", "text", hidden + " targets in namespaces that you may not read")));
  if (rows.length === 0) rows.push(element("li", "", element("span", "text", "It has no copies.")));
  return rows;
}

function sourceRow(source) {
  const { name, well, reason, message, synced, desired } = source;
  const details = element("details", well ? "" : "bad");
  details.append(element("summary", "",
    element("span", "name", name), meter(synced, desired),
    element("span", "count", synced + " of " + desired + " copies"), badge(reason, well ? "" : "bad")));
  const rows = targetRows(source);
  if (!well && message) rows.unshift(element("li", "", element("p", "text", message)));
  details.append(element("ul", "targets", ...rows));
  details.open = opened.get(name) ?? !well;
  details.addEventListener("toggle", () => opened.set(name, details.open));
  return element("li", "", details);
}

function lifetimeRow({ name, well, reason, message, endsIn }, kind) {
  const end = endsIn === undefined || endsIn < 0 ? "" : "ends in " + span(endsIn);
  const row = element("li", "row", element("span", "name", name), element("span", "count", end),
    badge(reason, well ? kind : "bad"));
  if (!well) row.append(element("p", "text", message));
  return row;
}

function fill(id, rows, empty) {
  const most = rows.slice(0, mostRows);
  if (rows.length === 0) most.push(element("li", "empty", empty));
  if (rows.length > mostRows) most.push(element("li", "empty", "and " + (rows.length - mostRows) + " more"));
  byId(id).replaceChildren(...most);
}

function card(value, label, kind) {
  return element("li", kind, element("b", "", value), element("span", "", label));
}

function drawCards({ sharedSecrets, keys, tokens }) {
  const sum = (field) => sharedSecrets.reduce((total, source) => total + source[field], 0);
  const ill = [...sharedSecrets, ...keys, ...tokens].filter(({ well }) => !well).length;
  const [synced, desired] = [sum("synced"), sum("desired")];
  byId("cards").replaceChildren(
    card(String(ill), "not well", ill === 0 ? "good" : "bad"),
    card(String(sharedSecrets.length), "SharedSecrets", ""),
    card(synced + " / " + desired, "copies synced", synced === desired ? "good" : "bad"),
    card(String(keys.length), "keys end soon or are not well", ""),
    card(String(tokens.length), "direct tokens", ""));
  document.title = (ill === 0 ? "" : "(" + ill + ") ") + "Latchkey status";
}

function draw() {
  const { report } = state;
  if (!report) return;
  const words = byId("filter").value.toLowerCase();
  const fits = ({ name, well, targets, failures }) =>
    (!byId("only").checked || !well) &&
    [name, ...(targets ?? []), ...failures.map(({ target }) => target)].some((text) => text.toLowerCase().includes(words));
  drawCards(report);
  const wellLast = (one, other) => Number(one.well) - Number(other.well);
  const shown = report.sharedSecrets.filter(fits).sort(wellLast);
  fill("sources", shown.slice(0, mostRows + 1).map(sourceRow), "There is none to show.");
  fill("keys", report.keys.map((key) => lifetimeRow(key, "warn")), "None.");
  fill("tokens", report.tokens.map((token) => lifetimeRow(token, "")), "None.");
  byId("hidden").replaceChildren(...report.notVisible.map(({ message }) => element("li", "", message)));
  byId("hidden-section").hidden = report.notVisible.length === 0;
}

function say(problem) {
  byId("problem").textContent = problem ?? "";
  byId("problem").hidden = !problem;
}

async function read() {
  let pause = 5000;
  try {
    const answer = await fetch("/api/status", { headers: { authorization: "Bearer " + token }, cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const text = await answer.text();
    state = JSON.parse(text);
    pause = state.intervalMs;
    byId("title").textContent = state.title;
    if (state.readAt) byId("updated").textContent = "Updated " + new Date(state.readAt).toLocaleTimeString();
    say(state.problem && "Not current: " + state.problem + ". Trying again.");
    const content = JSON.stringify(state.report);
    if (content !== drawn) draw();
    drawn = content;
  } catch (error) {
    say(error instanceof TypeError ? "kubectl latchkey status --serve does not run any more." : "Not current: " + error.message);
  }
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? undefined : read()), pause);
}

byId("filter").addEventListener("input", () => state && draw());
byId("only").addEventListener("change", () => state && draw());
document.addEventListener("visibilitychange", () => document.hidden || read());
read();
`;
