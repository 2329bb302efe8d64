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

const desired = ({ targets }) => Object.values(targets).reduce((sum, count) => sum + count, 0);
const isProblem = ({ state }) => state === "problem";
const nameOf = ({ object: { namespace, name } }) => (namespace ? namespace + "/" : "") + name;
const wordsOf = (item) => (nameOf(item) + " " + (item.displayName ?? "")).toLowerCase();

function named(item) {
  const made = element("span", "name", nameOf(item));
  if (item.displayName) made.append(" ", element("span", "display", item.displayName));
  return made;
}

function stateBadge({ state, reason }) {
  return badge(reason, state === "ok" ? "" : isProblem({ state }) ? "bad" : "warn");
}

function targetRow(secret) {
  const { state, reason, message, target } = secret;
  const row = element("li", "", element("span", "where", nameOf(secret)));
  if (state === "info") row.append(badge("paused", "warn"));
  if (target) row.append(badge(target, isProblem(secret) ? "bad" : ""));
  if (isProblem(secret)) row.append(badge(reason, "bad"), element("p", "text", message));
  return row;
}

function reportedRow(item) {
  const { state, reason, message } = item;
  const row = element("li", "", element("span", "where", "cluster " + nameOf(item)));
  row.append(badge(reason, state === "ok" ? "" : isProblem(item) ? "bad" : "warn"));
  row.append(element("p", "text", message));
  return row;
}

function targetRows(source) {
  const hidden = source.areNamed ? 0 : desired(source) - source.secrets.length;
  const rows = [...source.secrets.map(targetRow), ...source.clusters.map(reportedRow)];
  const note = hidden > 0
    ? hidden + " targets in namespaces that you may not read"
    : rows.length === 0 && "It has no targets.";
  return note ? [...rows, element("li", "", element("span", "text", note))] : rows;
}

function sourceRow(source) {
  const { said, targets, summary } = source;
  const name = nameOf(source);
  const details = element("details", isProblem(source) ? "bad" : "");
  details.append(element("summary", "", named(source),
    meter(targets.synced, desired(source)), element("span", "count", summary), stateBadge(source)));
  const rows = targetRows(source);
  if (said) rows.unshift(element("li", "", element("p", "text", said)));
  details.append(element("ul", "targets", ...rows));
  details.open = opened.get(name) ?? isProblem(source);
  details.addEventListener("toggle", () => opened.set(name, details.open));
  return element("li", "", details);
}

function lifetimeRow(found) {
  const { state, reason, message, endsIn, unscoped } = found;
  const end = endsIn === undefined || endsIn < 0 ? "" : "ends in " + span(endsIn);
  const row = element("li", "row", named(found),
    element("span", "count", end), stateBadge(found));
  if (state !== "ok" && reason !== "Expiring") row.append(element("p", "text", message));
  if (unscoped) row.append(element("p", "text", unscoped));
  return row;
}

function clusterRow(item) {
  const { heartbeatAge, offered, synced, withdrawals, unseenAge } = item.cluster;
  const figures = [
    heartbeatAge === undefined ? "no heartbeat" : "heartbeat " + span(heartbeatAge) + " ago",
    synced + " of " + offered + " SharedSecrets synced",
    ...(withdrawals === 0 ? [] : [withdrawals + " withdrawals wait"]),
    ...(unseenAge === undefined
      ? [] : ["a revision of " + span(unseenAge) + " ago is not reported"]),
  ];
  const row = element("li", "row", named(item), meter(synced, offered),
    element("span", "count", figures.join(", ")), stateBadge(item));
  if (item.state !== "ok") row.append(element("p", "text", item.message));
  return row;
}

function fill(id, rows, empty) {
  const most = rows.slice(0, mostRows);
  if (rows.length === 0) most.push(element("li", "empty", empty));
  if (rows.length > mostRows)
    most.push(element("li", "empty", "and " + (rows.length - mostRows) + " more"));
  byId(id).replaceChildren(...most);
}

function card(value, label, kind) {
  return element("li", kind, element("b", "", value), element("span", "", label));
}

function drawCards({ sharedSecrets, keys, tokens, clusters, policies }) {
  const counted = ["synced", "conflict", "failed", "pending", "unremoved"].map((state) =>
    [state, sharedSecrets.reduce((sum, source) => sum + source.targets[state], 0)]);
  const targets = counted.filter(([state, count]) => state !== "unremoved" || count > 0);
  const all = [sharedSecrets, keys, tokens, clusters, policies];
  const ill = all.flat().filter(isProblem).length;
  byId("cards").replaceChildren(
    card(String(ill), "not ready", ill === 0 ? "good" : "bad"),
    card(String(sharedSecrets.length), "SharedSecrets", ""),
    card(String(keys.length), "keys expire soon or are not ready", ""),
    card(String(tokens.length), "direct tokens", ""),
    ...targets.map(([state, count]) => card(String(count), "targets " + state,
      count > 0 && ["conflict", "failed", "unremoved"].includes(state) ? "bad" : "")));
  document.title = (ill === 0 ? "" : "(" + ill + ") ") + "Latchkey status";
}

function notes(id, items) {
  byId(id).replaceChildren(...items.map(({ message }) => element("li", "", message)));
  byId(id + "-section").hidden = items.length === 0;
}

function draw() {
  const { report } = state;
  if (!report) return;
  const words = byId("filter").value.toLowerCase();
  const fits = (source) =>
    (!byId("only").checked || isProblem(source)) &&
    [source, ...source.secrets, ...source.clusters].some((item) => wordsOf(item).includes(words));
  drawCards(report);
  const shown = report.sharedSecrets.filter(fits)
    .sort((one, other) => isProblem(other) - isProblem(one));
  fill("sources", shown.slice(0, mostRows + 1).map(sourceRow), "There is none to show.");
  fill("keys", report.keys.map(lifetimeRow), "None.");
  fill("tokens", report.tokens.map(lifetimeRow), "None.");
  fill("clusters", report.clusters.map(clusterRow), "None.");
  for (const id of ["keys", "tokens"]) byId(id + "-section").hidden = report.isConnected;
  byId("clusters-section").hidden = report.clusters.length === 0;
  notes("policies", report.policies);
  notes("hidden", report.notVisible);
}

function say(problem) {
  byId("problem").textContent = problem ?? "";
  byId("problem").hidden = !problem;
}

async function read() {
  let pause = 5000;
  try {
    const headers = { authorization: "Bearer " + token };
    const answer = await fetch("/api/status", { headers, cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const text = await answer.text();
    state = JSON.parse(text);
    pause = state.intervalMs;
    byId("title").textContent = state.title;
    if (state.readAt)
      byId("updated").textContent = "Updated " + new Date(state.readAt).toLocaleTimeString();
    say(state.problem && "Not current: " + state.problem + ". Trying again.");
    const content = JSON.stringify(state.report);
    if (content !== drawn) draw();
    drawn = content;
  } catch (error) {
    say(error instanceof TypeError
      ? "kubectl latchkey status --serve does not run any more."
      : "Not current: " + error.message);
  }
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? undefined : read()), pause);
}

byId("filter").addEventListener("input", () => state && draw());
byId("only").addEventListener("change", () => state && draw());
document.addEventListener("visibilitychange", () => document.hidden || read());
read();
`;
