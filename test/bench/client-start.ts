import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { home, sharedSecretRequest } from "../support/bench-objects.ts";
import { clientBundle } from "../support/bundle.ts";
import { compiledClient } from "../support/compiled-client.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { inTurns } from "../support/measured-run.ts";
import { median } from "../support/percentile.ts";
import { isMissing, orMissing } from "../support/prepared.ts";
import type { Bench } from "./bench-fixture.ts";
import { type Row, row } from "./report.ts";

const name = "client-start";

/**
 * Times `version` and `get` of the client as bundle and program beside kubectl, each in turn, so
 * that all three meet the same load.
 */
export async function clientStart({ fixture, size, report }: Bench): Promise<void> {
  const { admin, controlPlane, say } = fixture;
  await admin.send(sharedSecretRequest({ name, project: "nowhere" }, 1));
  const bundle = await clientBundle(say);
  const program = await orMissing(compiledClient(say));
  if (isMissing(program)) say(program.missing);
  const clients: Readonly<Record<string, readonly string[]>> = {
    bundle: [process.execPath, bundle],
    ...(!isMissing(program) && { program: [program] }),
  };
  const kinds = ["get", "sharedsecret", name, "-n", home, "-o", "jsonpath={.spec.data}"];
  const commands = [
    { what: "version", own: ["version", "--client"], others: ["version", "--client"] },
    { what: "get", own: ["get", name, "-n", home, "-o", "name"], others: kinds },
  ];
  const env = {
    PATH: process.env.PATH,
    KUBECONFIG: kubeconfigFor(controlPlane, "admin"),
    KUBERC: "off",
    HOME: controlPlane.directory,
  };
  const rows: Row[] = [];
  for (const { what, own, others } of commands) {
    const lines = { kubectl: [controlPlane.kubectl, ...others] };
    for (const [form, words] of Object.entries(clients))
      Object.assign(lines, { [form]: [...words, ...own] });
    const { kubectl = [], ...times } = await timedInTurns(lines, size.samples, env);
    for (const [form, list] of Object.entries(times))
      rows.push(rowOf(`start: ${what}, ${form}`, list, kubectl));
  }
  report(rows);
}

function rowOf(title: string, times: readonly number[], beside: readonly number[]): Row {
  const medians = [times, beside].map((list) => median(list).toFixed(0)).join(" and ");
  return row(title, [Math.min(...times), "ms"], {
    ceiling: Math.min(...beside),
    ratioGoal: title.endsWith("program") ? "<= 1.1" : undefined,
    note: `medians ${medians} ms`,
  });
}

/** Wall times in milliseconds of each command line; the first round is not counted. */
async function timedInTurns(
  lines: Readonly<Record<string, readonly string[]>>,
  rounds: number,
  env: NodeJS.ProcessEnv,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const runs = Object.entries(lines).map(([form, [program = "", ...args]]) => {
    const run = (): Promise<number> => {
      const begun = performance.now();
      const { status } = spawnSync(program, args, { env, stdio: "ignore" });
      if (status !== 0) throw new Error(`${program} ended with exit code ${status}`);
      return Promise.resolve(performance.now() - begun);
    };
    return [form, run] as const;
  });
  const times = await inTurns(rounds + 1, Object.fromEntries(runs));
  return Object.fromEntries(Object.entries(times).map(([form, list]) => [form, list.slice(1)]));
}
