import { readFileSync } from "node:fs";
import { dump, load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listAt, recordAt } from "../../src/api/parse.ts";
import { findChromium } from "../support/chromium.ts";
import { alertRules, rulesFile } from "../support/alert-rules.ts";
import { dashboardPanels } from "../support/dashboard.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type Prometheus, type Series, startPrometheus } from "../support/prometheus.ts";
import { type AlertFault, alertFaults, processFaults, withoutFault } from "./alert-faults.ts";
import { drawDashboard } from "./dashboard-picture.ts";
import { type DevProcess, startDev } from "./dev-process.ts";
import { type DevRequests, devProcesses, devRequests } from "./dev-requests.ts";

/** Queries without a result in a healthy installation, by title and legend, and why. */
const mayBeEmpty: Readonly<Record<string, string>> = {
  "Objects not ready: {{kind}} {{condition}} {{reason}}": "it shows numbers above 0",
  "Objects not ready, by name: ": "it names objects that are not ready",
  "Watch interruptions: {{resource}} {{code}}": "it shows rates above 0",
  "Connected clusters: {{cluster}} unreachable": "it names clusters that are not reached",
};

const rules = alertRules();
const queries = dashboardPanels().flatMap(({ title, queries: of }) =>
  of.map(({ expr, legend }) => ({ name: `${title}: ${legend}`, expr })),
);
const hasValues = (found: readonly Series[]): boolean =>
  found.some(({ points }) => points.some(([, value]) => !Number.isNaN(value)));
const healthySeconds = 60;
const management = "/kubernetes/management/apis/management.service/v1/namespaces/team-a";
const connected = "/kubernetes/cluster/connected/api/v1/namespaces/default/configmaps";

/** The rules, whose alerts fire at once. */
function withoutFor(): string {
  const groups = listAt(load(readFileSync(rulesFile, "utf8")), "groups").map((group) => ({
    ...{ name: "latchkey", ...recordAt({ group }, "group") },
    rules: listAt(group, "rules").map((rule) => ({ ...recordAt({ rule }, "rule"), for: "0s" })),
  }));
  return dump({ groups });
}

describe.skipIf(!hasDedicatedClusters)("a Prometheus that scrapes make dev CONNECTED=1", () => {
  let dev: DevProcess;
  let requests: DevRequests;
  let prometheus: Prometheus;
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1000;
  const alerts = async (state: string): Promise<readonly (string | undefined)[]> =>
    (await prometheus.query(`max by (alertname) (${state})`)).map(
      ({ labels }) => labels["alertname"],
    );

  beforeAll(async () => {
    dev = await startDev();
    requests = await devRequests(dev);
    const targets = devProcesses.map((name) => requests.metricsOf(name));
    prometheus = await startPrometheus({ targets, rules: readFileSync(rulesFile, "utf8") });
    const isScraped = `count(sum_over_time(up[1h]) > ${healthySeconds}) == ${targets.length}`;
    const ask = async (): Promise<boolean> => {
      await requests.codes(`${management}/sharedsecrets/database`, 2);
      await requests.codes(connected, 2);
      await requests.isAcceptedByApiServer();
      return (await prometheus.query(isScraped)).length > 0;
    };
    await eventually(ask, { what: "a minute of scrapes of all processes", every: 1_000 });
  });
  afterAll(async () => {
    await prometheus?.stop();
    await requests?.close();
    await dev?.remove();
  });

  it("has loaded all alerts", async () => {
    const loaded = await prometheus.loadedAlerts();
    expect(loaded.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
    expect(loaded.filter(({ health }) => health !== "ok")).toEqual([]);
  });

  it("has had no alert that fires, and none that is pending for half a minute", async () => {
    expect(await alerts('max_over_time(ALERTS{alertstate="firing"}[1h])')).toEqual([]);
    expect(await alerts("count_over_time(ALERTS[1m]) > 30")).toEqual([]);
  });

  it.each(queries)("evaluates $name", async ({ name, expr }) => {
    const found = await prometheus.query(expr);
    expect(hasValues(found) || Object.hasOwn(mayBeEmpty, name)).toBe(true);
  });

  it("has no more queries without a result than those of the list", () => {
    const names = queries.map(({ name }) => name);
    expect(Object.keys(mayBeEmpty).filter((name) => !names.includes(name))).toEqual([]);
  });

  describe("with rules without `for`", () => {
    beforeAll(async () => {
      prometheus.useRules(withoutFor());
      const isLoaded = async (): Promise<boolean> =>
        (await prometheus.loadedAlerts()).every(({ duration }) => duration === 0);
      await eventually(isLoaded, { what: "the rules to be loaded" });
    });

    const firing = (): Promise<readonly (string | undefined)[]> =>
      alerts('ALERTS{alertstate="firing"}');

    const fired: string[] = [];
    /** Which alerts of a fault fire after it, and did not fire before. */
    const firesBy = async ({ alerts: expected, cause }: AlertFault): Promise<readonly string[]> => {
      const before = await firing();
      const mend = await cause({ ...requests, access: dev.access });
      const fires = async (): Promise<boolean> => {
        const now = await firing();
        return expected.every((alert) => now.includes(alert));
      };
      await eventually(fires, { what: `${expected.join(" and ")} to fire` });
      fired.push(...expected);
      await mend?.();
      return expected.filter((alert) => !before.includes(alert));
    };

    it.each(alertFaults)("fires $alerts when $fault", async (fault) => {
      expect(await firesBy(fault)).toEqual(fault.alerts);
    });

    const chromium = findChromium("the picture of the dashboard is not drawn");
    it.skipIf(chromium === undefined)("shows the faults in docs/images/dashboard.png", async () => {
      const path = process.env.LATCHKEY_DASHBOARD_IMAGE;
      const picture = { prometheus, chromium: chromium ?? "", path, seconds: seconds() };
      const text = await drawDashboard(picture);
      for (const { title } of dashboardPanels()) expect(text).toContain(title);
      expect(text).toContain("no-role");
    });

    it.each(processFaults)("fires $alerts when $fault", async (fault) => {
      expect(await firesBy(fault)).toEqual(fault.alerts);
    });

    it("has a fault for each alert, but those of the list", () => {
      const caused = [...alertFaults, ...processFaults].flatMap((fault) => fault.alerts);
      const others = rules.map(({ alert }) => alert).filter((alert) => !caused.includes(alert));
      expect(others).toEqual(Object.keys(withoutFault));
      process.stdout.write(
        `alerts that fired: ${fired.join(", ")}; only with promtool: ${others.join(", ")}\n`,
      );
    });

    it.each(queries)("has a result since the start for $name", async ({ expr }) => {
      expect(hasValues(await prometheus.queryRange(expr, seconds()))).toBe(true);
    });
  });
});
