import { describe, expect, test } from "vitest";
import type { StatusView } from "../../../src/client/status/status-source.ts";
import { watchStatus, type WatchOptions } from "../../../src/client/status/status-watch.ts";
import { TestClock } from "../../support/test-clock.ts";
import { sampleReport } from "./status-sample.ts";

const good: StatusView = { report: sampleReport, readAt: 0, problem: undefined };
const away: StatusView = { ...good, problem: "the API server does not answer: ECONNREFUSED" };
const [token] = sampleReport.tokens;
const later: StatusView = {
  ...good,
  report: {
    ...sampleReport,
    tokens: [{ ...token!, endsIn: 1 }],
    clusters: sampleReport.clusters.map((item) => ({
      ...item,
      cluster: {
        ...item.cluster,
        heartbeatAge: 999,
        ...(item.cluster.unseenAge && { unseenAge: 999 }),
      },
    })),
  },
};
const fewer: StatusView = { ...good, report: { ...sampleReport, tokens: [] } };

interface Printed {
  readonly out: readonly string[];
  readonly said: readonly string[];
}

/** Runs the watch over these views, then stops it. */
async function watched(
  views: readonly StatusView[],
  { rows = Infinity, output }: { rows?: number; output?: WatchOptions["output"] } = {},
): Promise<Printed> {
  const [out, said]: string[][] = [[], []];
  const stop = new AbortController();
  const clock = new TestClock();
  const left = [...views];
  const read = async (): Promise<StatusView> => {
    const view = left.shift();
    if (view !== undefined) return view;
    stop.abort();
    return new Promise(() => {});
  };
  const isOutput = rows !== Infinity;
  const running = watchStatus(
    { intervalMs: 1000, output, title: "namespace team-a" },
    {
      source: { first: read, next: read, tookMs: 0 },
      terminal: {
        print: (text) => void out?.push(String(text)),
        say: (text) => void said?.push(text),
        isOutput,
        hasColors: false,
        rows: () => rows,
      },
      clock,
      signal: stop.signal,
    },
  );
  for (let step = 0; step < views.length; step++) await clock.run(1000);
  await running;
  return { out: out ?? [], said: said ?? [] };
}

describe("without a terminal", () => {
  test("prints a report, and again only when it changes", async () => {
    const { out } = await watched([good, good, later, fewer]);
    expect(out).toHaveLength(2);
    expect(out[0]).toContain("laptop Minted");
    expect(out[1]).not.toContain("laptop");
  });

  test("says once that the API server is away, and once that it is back", async () => {
    const { out, said } = await watched([good, away, away, good]);
    expect(out).toHaveLength(1);
    expect(said).toEqual([
      "the API server does not answer: ECONNREFUSED; trying again",
      "the API server answers again",
    ]);
  });

  test.each([
    ["json", "{"],
    ["yaml", "---\nkind: Report\n"],
  ] as const)("prints each report as a document of %s", async (output, begin) => {
    const { out } = await watched([good, fewer], { output });
    expect(out).toHaveLength(2);
    expect(out[1]?.startsWith(begin)).toBe(true);
  });
});

describe("on a terminal", () => {
  test("prints each report over the last one", async () => {
    const { out } = await watched([good, good], { rows: 100 });
    const [first, second, end] = out;
    const visible = first?.replaceAll("\u{1b}", "ESC");
    expect(visible).toMatch(/^ESC\[\?7lESC\[Hnamespace team-a {3}00:00:00 UTCESC\[K\n/);
    expect(visible).toMatch(/ESC\[J$/);
    expect(second).toBe(first);
    expect(end).toBe("\u{1b}[?7h");
    expect(out).toHaveLength(3);
  });

  test("prints as many lines as it has", async () => {
    const { out } = await watched([good], { rows: 5 });
    expect(out[0]?.split("\n")).toHaveLength(5);
    expect(out[0]).toContain("... and 21 more lines");
  });

  test("shows the last report and what is wrong", async () => {
    const { out } = await watched([good, away], { rows: 100 });
    expect(out[1]).toContain("not current: the API server does not answer: ECONNREFUSED");
    expect(out[1]).toContain("team-a/database");
  });
});

test("rejects if the first report cannot be read", async () => {
  const failing = async (): Promise<StatusView> => {
    throw new TypeError("no");
  };
  const deps = {
    source: { first: failing, next: failing, tookMs: 0 },
    terminal: { print() {}, say() {}, isOutput: false, hasColors: false, rows: () => 1 },
    clock: new TestClock(),
    signal: new AbortController().signal,
  };
  const options = { intervalMs: 1, output: undefined, title: "" };
  await expect(watchStatus(options, deps)).rejects.toThrow("no");
});
