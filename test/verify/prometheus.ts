import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import { listAt, numberAt, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { debianPrograms } from "../support/debian-programs.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startTiedChild } from "../support/tied-child.ts";

/** A series of the answer to a query. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch and value, in order; one for a query at an instant. */
  readonly points: readonly (readonly [at: number, value: number])[];
}

/** An alert that is loaded. */
export interface LoadedAlert {
  readonly name: string;
  /** Seconds that its expression must hold. */
  readonly duration: number;
  /** `ok` if the last evaluation had no error. */
  readonly health: string;
}

/** An alert that fires. */
export interface FiringAlert {
  readonly alert: string;
  readonly summary: string;
}

/** A running Prometheus that scrapes and evaluates its rules every second. */
export interface Prometheus {
  /** Evaluates an expression now; throws the error of Prometheus. */
  readonly query: (expr: string) => Promise<readonly Series[]>;
  /** Evaluates an expression at 120 instants of the last seconds. */
  readonly queryRange: (expr: string, seconds: number) => Promise<readonly Series[]>;
  readonly loadedAlerts: () => Promise<readonly LoadedAlert[]>;
  readonly firingAlerts: () => Promise<readonly FiringAlert[]>;
  /** Replaces the rules; the new ones apply within seconds. */
  readonly useRules: (rules: string) => void;
  readonly stop: () => Promise<void>;
}

/** What a Prometheus scrapes and evaluates. */
export interface PrometheusOptions {
  /** Each is `host:port`, whose `/metrics` is scraped. */
  readonly targets: readonly string[];
  /** YAML. */
  readonly rules: string;
}

/**
 * Starts Debian's Prometheus on a port of 127.0.0.1, with its data in a temporary directory. Rejects
 * if the apt sources of this machine do not serve it.
 */
export async function startPrometheus({ targets, rules }: PrometheusOptions): Promise<Prometheus> {
  const programs = await debianPrograms(["prometheus"], (line) => {
    process.stderr.write(`prometheus: ${line}\n`);
  });
  const directory = mkdtempSync(join(tmpdir(), "prometheus-"));
  const [config, rulesFile] = [join(directory, "config.yaml"), join(directory, "rules.yaml")];
  const useRules = (text: string): void => writeFileSync(rulesFile, text);
  useRules(rules);
  writeFileSync(config, dump(configuration(targets, rulesFile)));
  const address = `127.0.0.1:${await freePort()}`;
  const child = startTiedChild(
    [
      join(programs, "usr/bin/prometheus"),
      ...[`--config.file=${config}`, `--storage.tsdb.path=${join(directory, "data")}`],
      `--web.listen-address=${address}`,
    ],
    { log: join(directory, "log"), removeWithParent: directory },
  );
  const read = (path: string): Promise<unknown> => answerOf(`http://${address}/api/v1/${path}`);
  const isReady = async (): Promise<boolean> => (await fetch(`http://${address}/-/ready`)).ok;
  await eventually(isReady, { what: "Prometheus to be ready" });
  return {
    query: async (expr) =>
      seriesOf(await read(`query?${new URLSearchParams({ query: expr }).toString()}`)),
    async queryRange(expr, seconds) {
      const end = Date.now() / 1000;
      const step = Math.max(1, seconds / 120);
      const range = { query: expr, start: `${end - seconds}`, end: `${end}`, step: `${step}` };
      return seriesOf(await read(`query_range?${new URLSearchParams(range).toString()}`));
    },
    loadedAlerts: async () =>
      listAt(await read("rules"), "groups")
        .flatMap((group) => listAt(group, "rules"))
        .map((rule) => ({
          name: stringAt(rule, "name") ?? "",
          duration: numberAt(rule, "duration") ?? NaN,
          health: stringAt(rule, "health") ?? "",
        })),
    firingAlerts: async () =>
      listAt(await read("alerts"), "alerts")
        .filter((alert) => stringAt(alert, "state") === "firing")
        .map((alert) => ({
          alert: stringAt(recordAt(alert, "labels"), "alertname") ?? "",
          summary: stringAt(recordAt(alert, "annotations"), "summary") ?? "",
        })),
    useRules(text) {
      useRules(text);
      child.kill("SIGHUP");
    },
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** As docs/operations.md describes it. */
function configuration(targets: readonly string[], rulesFile: string): object {
  const every = "1s";
  return {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: [rulesFile],
    scrape_configs: [
      { job_name: "latchkey", honor_labels: true, static_configs: [{ targets: [...targets] }] },
    ],
  };
}

/** The data of an answer; throws the error that it has instead. */
async function answerOf(url: string): Promise<unknown> {
  const answer: unknown = await (await fetch(url)).json();
  if (stringAt(answer, "status") !== "success")
    throw new Error(`${url}: ${stringAt(answer, "error") ?? "no error is given"}`);
  return recordAt(answer, "data");
}

function seriesOf(data: unknown): readonly Series[] {
  return listAt(data, "result").map((result) => ({
    labels: stringMapAt(result, "metric"),
    points: [listAt(result, "value"), ...listAt(result, "values")]
      .filter(Array.isArray)
      .filter((point) => point.length === 2)
      .map(([at, value]) => [Number(at), Number(value)] as const),
  }));
}
