import { readFileSync } from "node:fs";
import { dump, load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listAt, recordAt } from "../../src/api/parse.ts";
import { findChromium } from "../support/chromium.ts";
import { present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { alertRules, rulesFile } from "../support/alert-rules.ts";
import { dashboardPanels } from "../support/dashboard.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type Prometheus, type Series, startPrometheus } from "./prometheus.ts";
import { textsOf } from "../support/promql.ts";
import {
  type AlertFault,
  alertFaults,
  lastingFaults,
  leaderFault,
  type Mend,
  processFaults,
} from "./alert-faults.ts";
import { drawDashboard } from "./dashboard-picture.ts";
import { defectiveReplica, type DefectiveReplica } from "./defective-replica.ts";
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
const shipped = readFileSync(rulesFile, "utf8");
const hasValues = (found: readonly Series[]): boolean =>
  found.some(({ points }) => points.some(([, value]) => !Number.isNaN(value)));
const healthySeconds = 60;
const management = "/kubernetes/management/apis/management.service/v1/namespaces/team-a";
const connected = "/kubernetes/cluster/connected/api/v1/namespaces/default/configmaps";

/** The alerts that a fault has made fire, and what ends it. */
interface Fired {
  readonly alerts: readonly string[];
  readonly mend: Mend;
}

/** What an alert may say: its summary, with a text in place of each expression. */
function spoken(alert: string): RegExp {
  const { summary = "" } = rules.find((rule) => rule.alert === alert) ?? {};
  const texts = summary.split(/\{\{.*?\}\}/);
  const escaped = texts.map((text) => text.replaceAll(/[.()]/g, "\\$&"));
  return new RegExp(`^${escaped.join("\\S(?:.*\\S)?")}$`);
}

/** The rules, whose alerts fire at once. */
function withoutFor(): string {
  const groups = listAt(load(shipped), "groups").map((group) => ({
    name: "latchkey",
    ...recordAt({ group }, "group"),
    rules: listAt(group, "rules").map((rule) => ({ ...recordAt({ rule }, "rule"), for: "0s" })),
  }));
  return dump({ groups });
}

describe.skipIf(!hasDedicatedClusters)("a Prometheus that scrapes make dev CONNECTED=1", () => {
  let dev: DevProcess;
  let requests: DevRequests;
  let replica: DefectiveReplica;
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
    replica = await defectiveReplica(dev.directory);
    const targets = devProcesses.map((name) => requests.metricsOf(name));
    prometheus = await startPrometheus({ targets: [...targets, replica.address], rules: shipped });
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
    await replica?.stop();
    await requests?.close();
    await dev?.remove();
  });

  it("has loaded all alerts", async () => {
    const loaded = await prometheus.loadedAlerts();
    const names = loaded.map(({ name }) => name);
    expect(names.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    expect(loaded.filter(({ health }) => health !== "ok")).toEqual([]);
  });

  it("has the alerts about the processes of connected clusters in the group of their chart", async () => {
    const there = ["direct-endpoint", "direct-authorizer", "cluster-agent"];
    const instances = `instance=~"${there.map((name) => requests.metricsOf(name)).join("|")}"`;
    const of: string[] = [];
    for (const { alert, expr } of rules) {
      // With the labels that the alert asks for: an agent has a Lease, but not that of the controller.
      const series = textsOf(expr, "VectorSelector").map((selector) => {
        const [, name = "", matchers = ""] = /^(\w+)(?:\{(.*)\})?$/s.exec(selector) ?? [];
        return `${name}{${[matchers, instances].filter((text) => text !== "").join()}}`;
      });
      if ((await prometheus.query(series.join(" or "))).length > 0) of.push(alert);
    }
    const grouped = rules.filter(({ group }) => group === "latchkey").map(({ alert }) => alert);
    expect(of).toEqual(grouped);
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

    const firing = async (): Promise<readonly string[]> =>
      (await prometheus.firingAlerts()).map(({ alert }) => alert);
    /** Causes a fault, and waits until its alerts fire; returns those that did not fire before. */
    const fires = async ({ alerts: expected, cause }: AlertFault): Promise<Fired> => {
      const before = await firing();
      const mend = await cause({ ...requests, access: dev.access, replica });
      const fire = async (): Promise<boolean> => {
        const now = await firing();
        return expected.every((alert) => now.includes(alert));
      };
      await eventually(fire, { what: `${expected.join(" and ")} to fire`, within: 400_000 });
      for (const { alert, summary } of await prometheus.firingAlerts()) {
        expect(summary).toMatch(spoken(alert));
        if (expected.includes(alert)) process.stdout.write(`${alert}: ${summary}\n`);
      }
      return { alerts: expected.filter((alert) => !before.includes(alert)), mend };
    };

    const mends: Mend[] = [];

    it.each([leaderFault])("fires $alerts when $fault", async (fault) => {
      const { alerts, mend } = await fires(fault);
      await mend();
      expect(alerts).toEqual(fault.alerts);
    });

    it.each(lastingFaults)("fires $alerts when $fault", async (fault) => {
      const { alerts, mend } = await fires(fault);
      mends.push(mend);
      expect(alerts).toEqual(fault.alerts);
    });

    it.each(alertFaults)("fires $alerts when $fault", async (fault) => {
      const { alerts, mend } = await fires(fault);
      await mend();
      expect(alerts).toEqual(fault.alerts);
    });

    const chromium = findChromium();
    it("shows the faults in docs/images/dashboard.png", skippedWithout(chromium), async () => {
      const path = process.env.LATCHKEY_DASHBOARD_IMAGE;
      const picture = { prometheus, chromium: present(chromium), path, seconds: seconds() };
      const text = await drawDashboard(picture);
      for (const { title } of dashboardPanels()) expect(text).toContain(title);
      expect(text).toContain("no-role");
    });

    it.each(processFaults)("fires $alerts when $fault", async (fault) => {
      const { alerts, mend } = await fires(fault);
      await mend();
      expect(alerts).toEqual(fault.alerts);
    });

    it("has a fault for each alert", () => {
      const caused = [leaderFault, ...lastingFaults, ...alertFaults, ...processFaults];
      const alerts = caused.flatMap((fault) => fault.alerts);
      expect(alerts.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    });

    describe("with the faults mended", () => {
      beforeAll(async () => {
        for (const mend of mends) await mend();
      });

      it.each(rules)("has no reason to fire $alert any more", async ({ alert, expr }) => {
        // A rate over ten minutes would end ten minutes later.
        const ofMinute = expr.replaceAll(/\[\d+m\]/g, "[1m]");
        const isSilent = async (): Promise<boolean> =>
          (await prometheus.query(ofMinute)).length === 0;
        expect(await eventually(isSilent, { what: `${alert} to stop` })).toBe(true);
      });
    });

    it.each(queries)("has a result since the start for $name", async ({ expr }) => {
      expect(hasValues(await prometheus.queryRange(expr, seconds()))).toBe(true);
    });
  });
});
