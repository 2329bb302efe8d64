import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { home, sharedSecretRequest } from "../support/bench-objects.ts";
import { clientBundle } from "../support/bundle.ts";
import { compiled, compilerRuns } from "../support/cli-form.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { median } from "../support/percentile.ts";
import type { BenchFixture } from "./bench-fixture.ts";
import type { Row } from "./report.ts";

const name = "client-start";
const goal = 1.1;

/** A form of the client that is timed. */
interface Started {
  readonly label: string;
  readonly words: readonly string[];
}

/**
 * Times `version` and `get` of the client as bundle and program beside kubectl, each in turn, so
 * that all three meet the same load.
 */
export async function clientStartRows(
  { admin, controlPlane, say }: BenchFixture,
  rounds: number,
): Promise<readonly Row[]> {
  await admin.send(sharedSecretRequest({ name, project: "nowhere" }, 1));
  const bundle = await clientBundle(say);
  const clients: readonly Started[] = [
    { label: "bundle", words: [process.execPath, bundle] },
    ...(compilerRuns(say)
      ? [{ label: "program", words: compiled(bundle, controlPlane.directory).words }]
      : []),
  ];
  const { kubectl } = controlPlane;
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
  return commands.flatMap(({ what, own, others }) => {
    const lines = [[kubectl, ...others], ...clients.map(({ words }) => [...words, ...own])];
    const [beside = [], ...times] = timedInTurns(lines, rounds, env);
    return clients.map(({ label }, at) =>
      rowOf(`start: ${what}, ${label}`, times[at] ?? [], beside),
    );
  });
}

function rowOf(title: string, times: readonly number[], beside: readonly number[]): Row {
  const [measured, ceiling] = [Math.min(...times), Math.min(...beside)];
  const medians = [times, beside].map((list) => median(list).toFixed(0)).join(" and ");
  return {
    ...{ name: title, measured, unit: "ms", ceiling },
    ...(title.endsWith("program") && { wanted: `<= ${goal}`, met: measured / ceiling <= goal }),
    note: `medians ${medians} ms`,
  };
}

/** Wall times in milliseconds of each command line; the first round is not counted. */
function timedInTurns(
  lines: readonly (readonly string[])[],
  rounds: number,
  env: NodeJS.ProcessEnv,
): readonly (readonly number[])[] {
  const times = lines.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [at, [program = "", ...args]] of lines.entries()) {
      const begun = performance.now();
      const { status } = spawnSync(program, args, { env, stdio: "ignore" });
      if (status !== 0) throw new Error(`${program} ended with exit code ${status}`);
      if (round > 0) times[at]?.push(performance.now() - begun);
    }
  }
  return times;
}
