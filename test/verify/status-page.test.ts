import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { serveStatus } from "../../src/client/status/status-serve.ts";
import type { StatusReport } from "../../src/client/status/status-report.ts";
import type { StatusView } from "../../src/client/status/status-source.ts";
import { findChromium } from "../support/chromium.ts";
import { eventually } from "../support/eventually.ts";
import { present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { inConflict, sampleReport, target } from "../client/status/status-sample.ts";

const program = findChromium();

/** The page in a browser, over reports that a test changes. */
interface Opened {
  readonly page: Page;
  readonly url: string;
  readonly show: (change: Partial<StatusView>) => void;
  readonly problems: readonly string[];
}

describe("the status page in Chromium", skippedWithout(program), () => {
  let browser: Browser;
  const stops: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: present(program), args: ["--no-sandbox"] });
  });
  afterAll(() => browser.close());
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  async function open(
    report: StatusReport = sampleReport,
    look: { colorScheme?: "dark" | "light"; width?: number; fragment?: string } = {},
  ): Promise<Opened> {
    const stop = new AbortController();
    let shown: StatusView = { report, readAt: Date.UTC(2026, 10, 23, 9), problem: undefined };
    const [out, problems]: string[][] = [[], []];
    const read = async (): Promise<StatusView> => shown;
    const ended = serveStatus(
      { port: 0, intervalMs: 100, title: "all namespaces at https://cluster.example:6443" },
      {
        source: { first: read, next: read, tookMs: 0 },
        terminal: { print: (text) => void out?.push(String(text)), say() {} },
        clock: systemClock,
        signal: stop.signal,
      },
    );
    await eventually(() => out?.length === 1, { what: "the URL" });
    const { colorScheme = "light", width = 960 } = look;
    const viewport = { width, height: 900 };
    const context = await browser.newContext({ colorScheme, viewport, timezoneId: "UTC" });
    stops.push(
      () => context.close(),
      async () => {
        stop.abort();
        await ended;
      },
    );
    const page = await context.newPage();
    page.on("pageerror", ({ message }) => problems?.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") problems?.push(message.text());
    });
    const url = (out?.[0] ?? "").trim();
    await page.goto(url.replace(/#.*/, (own) => look.fragment ?? own));
    return {
      page,
      url,
      problems: problems ?? [],
      show: (change) => void (shown = { ...shown, ...change }),
    };
  }

  test("shows every part of the report, with what is not ready opened", async () => {
    const { page, problems } = await open();
    await page.getByText("team-a/registry").waitFor();
    const text = await page.locator("body").innerText();
    for (const part of [
      ...["all namespaces at https://cluster.example:6443", "targets conflict", "team-b/smtp"],
      ...[
        "1 of 2 targets synced, 1 conflict",
        "is not managed by Latchkey",
        "team-a/database Orders database",
        "ci-pipeline Pipeline",
        "ends in 3d",
        "laptop",
      ],
      ...["you may not list Secrets in all namespaces"],
      ...["Connected clusters", "a revision of 5m ago is not reported", "cluster west"],
      ...["Expiring", "The credential of the gateway ends in 9d."],
    ])
      expect(text).toContain(part);
    expect(await page.getByText("web-test/database").isVisible()).toBe(false);
    await page.getByText("team-a/database").click();
    expect(await page.getByText("web-test/database").isVisible()).toBe(true);
    expect(await page.title()).toBe("(3) Latchkey status");
    expect(problems).toEqual([]);
  });

  test("shows names and messages with HTML as they are", async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
    const object = { kind: hostile, namespace: hostile, name: hostile };
    const state = { object, state: "problem", reason: hostile, message: hostile } as const;
    const item = {
      ...state,
      displayName: hostile,
      causes: [{ object, reason: hostile, message: hostile }],
    };
    const { page, problems } = await open({
      sharedSecrets: [
        {
          ...inConflict,
          ...item,
          summary: hostile,
          secrets: [
            { ...item, state: "info" },
            { ...item, target: "failed" },
          ],
          clusters: [item],
        },
      ],
      clusters: [
        { ...item, cluster: { projects: [hostile], offered: 1, synced: 0, withdrawals: 0 } },
      ],
      keys: [{ ...item, expiresAt: hostile, endsIn: undefined }],
      tokens: [{ ...item, expiresAt: hostile, endsIn: 1 }],
      isConnected: false,
      policies: [item],
      notVisible: [item],
    });
    await page.locator("#sources .display").getByText(hostile).waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.title()).toBe("(5) Latchkey status");
    expect(problems).toEqual([]);
  });

  test("refreshes itself, keeps what the user opened, and says when it is not current", async () => {
    const { page, show } = await open();
    await page.getByText("team-a/database").click();
    const [, ...others] = sampleReport.sharedSecrets;
    const [first] = sampleReport.sharedSecrets;
    const secrets = [target(first!.object, "web-new", "synced")];
    show({ report: { ...sampleReport, sharedSecrets: [{ ...first!, secrets }, ...others] } });
    await page.getByText("web-new/database").waitFor();
    show({ problem: "the API server does not answer: ECONNREFUSED" });
    await page.getByText("Not current: the API server does not answer").waitFor();
    show({ problem: undefined });
    await page.locator("#problem").waitFor({ state: "hidden" });
    expect(await page.getByText("web-new/database").isVisible()).toBe(true);
  });

  test("filters by name, and by what is not ready", async () => {
    const { page } = await open();
    await page.getByLabel("Filter").fill("SMTP");
    await page.getByText("team-a/database").waitFor({ state: "detached" });
    expect(await page.locator("#sources .name").allInnerTexts()).toEqual(["team-b/smtp"]);
    await page.getByLabel("Filter").fill("orders");
    await page.getByText("team-b/smtp").waitFor({ state: "detached" });
    expect(await page.locator("#sources .name").allInnerTexts()).toEqual([
      "team-a/database Orders database",
    ]);
    await page.getByLabel("Filter").fill("");
    await page.getByLabel("Only what is not ready").check();
    await page.getByText("team-b/smtp").waitFor({ state: "detached" });
    expect(await page.locator("#sources .name").allInnerTexts()).toEqual(["team-a/registry"]);
  });

  test("shows nothing without the token", async () => {
    const { page } = await open(sampleReport, { fragment: "#wrong" });
    await page.getByText("the token is missing or wrong").waitFor();
    expect(await page.locator("main").innerText()).not.toContain("team-a");
  });

  test.each([
    ["an HTML text", "document.body.innerHTML = '<b>'"],
    ["a handler", "document.body.setAttribute('onclick', 'alert(1)')"],
    ["a script of another server", "document.createElement('script').src = 'https://a.example/'"],
    ["a request to another server", "fetch('https://a.example/')"],
  ])("refuses %s", async (_what, code) => {
    const { page } = await open();
    await page.getByText("team-a/registry").waitFor();
    await expect(page.evaluate(code)).rejects.toThrow(/Error/);
  });

  test("another page can neither read it nor frame it", async () => {
    const { url } = await open();
    const context = await browser.newContext();
    stops.unshift(() => context.close());
    const other = await context.newPage();
    await other.goto("data:text/html,<title>other</title>");
    const authorization = `Bearer ${new URL(url).hash.slice(1)}`;
    const read = await other.evaluate(
      ([address, header]) =>
        fetch(`${address}/api/status`, { headers: { authorization: header ?? "" } }).then(
          (answer) => answer.status,
          () => "refused",
        ),
      [new URL(url).origin, authorization],
    );
    expect(read).toBe("refused");
  });

  test.each([
    ["light", "rgb(245, 246, 248)"],
    ["dark", "rgb(18, 22, 28)"],
  ] as const)("has colors for %s", async (colorScheme, color) => {
    const { page } = await open(sampleReport, { colorScheme });
    await page.getByText("team-a/registry").waitFor();
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(color);
  });

  test.each([320, 600, 1400])("is not wider than a window of %d pixels", async (width) => {
    const object = { ...inConflict.object, name: "long-name-".repeat(20) };
    const long = { ...inConflict, object };
    const { page } = await open({ ...sampleReport, sharedSecrets: [long] }, { width });
    await page.locator("#sources .name").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  });
});
