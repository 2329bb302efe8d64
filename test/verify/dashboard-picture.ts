import { chromium } from "playwright-core";
import { dashboardPanels, type Panel } from "../support/dashboard.ts";
import type { Prometheus, Series } from "./prometheus.ts";

/** Pixels of a column and of a line of the dashboard. */
const [columnPx, linePx, gapPx] = [50, 36, 6];
const colors = ["#3274d9", "#e0752d", "#299c46", "#b877d9", "#e02f44", "#f2cc0c", "#1f9ea8"];

/** What a picture of the dashboard needs. */
export interface DashboardPicture {
  readonly prometheus: Prometheus;
  /** The path of Chromium. */
  readonly chromium: string;
  /** The PNG to write; it is not kept if undefined. */
  readonly path: string | undefined;
  /** How long before now it begins. */
  readonly seconds: number;
}

/** Draws every panel of the dashboard from evaluations of its queries; returns the text of the page. */
export async function drawDashboard({
  prometheus,
  chromium: executablePath,
  path,
  seconds,
}: DashboardPicture): Promise<string> {
  const panels = dashboardPanels();
  const drawn = await Promise.all(panels.map((panel) => draw(panel, { prometheus, seconds })));
  const height = Math.max(...panels.map(({ place }) => place.y + place.h)) * linePx;
  const viewport = { width: 24 * columnPx + gapPx, height: height + gapPx };
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport, colorScheme: "light" });
    await page.setContent(`<!doctype html><style>${style}</style>${drawn.join("")}`);
    if (path !== undefined) await page.screenshot({ path });
    return await page.locator("body").innerText();
  } finally {
    await browser.close();
  }
}

/** A series with the name that the legend gives it. */
interface Line extends Series {
  readonly name: string;
}

async function draw(
  { type, title, place, queries }: Panel,
  { prometheus, seconds }: Pick<DashboardPicture, "prometheus" | "seconds">,
): Promise<string> {
  const isGraph = type === "timeseries";
  const found = await Promise.all(
    queries.map(async ({ expr, legend }) => {
      const series = isGraph
        ? await prometheus.queryRange(expr, seconds)
        : await prometheus.query(expr);
      return series.map((one): Line => ({ ...one, name: named(legend, one) }));
    }),
  );
  const lines = found.flat().toSorted((a, b) => greatest(b) - greatest(a));
  const body =
    { row: "", stat: statOf(lines), table: tableOf(lines) }[type] ?? graphOf(lines, place);
  const [left, top] = [place.x * columnPx + gapPx, place.y * linePx + gapPx];
  const [width, height] = [place.w * columnPx - gapPx, place.h * linePx - gapPx];
  const box = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
  return `<section class="${type}" style="${box}"><h2>${safe(title)}</h2>${body}</section>`;
}

function greatest({ points }: Series): number {
  return Math.max(0, ...points.map(([, value]) => value).filter(Number.isFinite));
}

function named(legend: string, { labels }: Series): string {
  return legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? "");
}

function statOf(lines: readonly Line[]): string {
  const values = lines.map(
    ({ name, points }) => `<div><b>${short(points.at(-1)?.[1] ?? NaN)}</b><br>${safe(name)}</div>`,
  );
  return `<div class="values">${values.join("") || "No data"}</div>`;
}

function tableOf(lines: readonly Line[]): string {
  const columns = ["kind", "namespace", "name", "reason"];
  const cells = (texts: readonly string[], tag: string): string =>
    `<tr>${texts.map((text) => `<${tag}>${safe(text)}</${tag}>`).join("")}</tr>`;
  const rows = lines.map(({ labels }) =>
    cells(
      columns.map((name) => labels[name] ?? ""),
      "td",
    ),
  );
  return `<table>${cells(columns, "th")}${rows.join("")}</table>`;
}

/** One line of SVG for each series, from 0 to the greatest value, and the names of the first. */
function graphOf(lines: readonly Line[], place: Panel["place"]): string {
  const kept = lines.map((line) => ({
    ...line,
    points: line.points.filter(([, value]) => Number.isFinite(value)),
  }));
  const points = kept.flatMap((line) => line.points);
  if (points.length === 0) return '<div class="values">No data</div>';
  const [from, to] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
  const top = Math.max(...kept.map(greatest)) || 1;
  const [width, height] = [place.w * columnPx - 70, place.h * linePx - 110];
  const x = (at: number): number => 44 + ((at - from) / (to - from || 1)) * width;
  const y = (value: number): number => 8 + (1 - value / top) * height;
  const paths = kept.map(
    (line, index) =>
      `<polyline stroke="${colors[index % colors.length] ?? ""}" points="${line.points
        .map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`)
        .join(" ")}"/>`,
  );
  const scale = [0, top / 2, top].map(
    (value) =>
      `<line x1="44" x2="${44 + width}" y1="${y(value)}" y2="${y(value)}"/><text x="40" y="${y(value) + 4}">${short(value)}</text>`,
  );
  const names = kept.map(
    ({ name }, index) =>
      `<span><i style="background:${colors[index % colors.length] ?? ""}"></i>${safe(name)}</span>`,
  );
  return `<svg width="${width + 60}" height="${height + 16}">${scale.join("")}${paths.join("")}</svg><p>${names.join("")}</p>`;
}

function short(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toPrecision(2);
}

function safe(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const style = `
body { margin: 0; background: #f4f5f5; font: 12px sans-serif; color: #24292e }
section { position: absolute; box-sizing: border-box; background: #fff; border: 1px solid #d8d9da;
  padding: 6px 8px; overflow: hidden }
section.row { background: none; border: none }
h2 { margin: 0 0 4px; font-size: 13px }
p { margin: 2px 0; height: 46px; overflow: hidden; line-height: 15px; font-size: 11px }
p span { margin-right: 10px; white-space: nowrap }
i { display: inline-block; width: 10px; height: 3px; margin: 0 4px 3px 0 }
polyline { fill: none; stroke-width: 1.5 }
line { stroke: #e6e7e8 }
text { font-size: 10px; fill: #6e7077; text-anchor: end }
.values { display: flex; gap: 14px; justify-content: center; padding-top: 20px; text-align: center }
.values div { flex: 0 1 84px; font-size: 10px; overflow-wrap: anywhere }
b { font-size: 26px }
table { border-collapse: collapse } td, th { text-align: left; padding: 2px 10px 2px 0 }
`;
