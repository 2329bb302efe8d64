import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { keyRequest, plainKeyOf } from "../support/bench-objects.ts";
import { compiledClient } from "../support/compiled-client.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import { inTurns } from "../support/measured-run.ts";
import { percentile } from "../support/percentile.ts";
import { isMissing, orMissing } from "../support/prepared.ts";
import type { BenchFixture } from "./bench-fixture.ts";
import { statusThrough, type Way } from "./gateway-ways.ts";
import { latencyRow, type Row } from "./report.ts";

const path = "/version";

/**
 * The time from the start of `kubectl latchkey keys create` until a request with the new key is
 * answered by the gateway, in turns with a POST of a key by a bare client.
 */
export async function newKeyRows(
  { admin, controlPlane, say }: BenchFixture,
  way: Way,
  keys: number,
): Promise<readonly Row[]> {
  const program = await orMissing(compiledClient(say));
  if (isMissing(program)) {
    say(program.missing);
    return [];
  }
  const ca = join(controlPlane.directory, "gateway-ca.pem");
  writeFileSync(ca, way.ca);
  const env = {
    KUBECONFIG: kubeconfigFor(controlPlane, "admin"),
    KUBERC: "off",
    HOME: controlPlane.directory,
  };
  const create = (name: string): string => {
    const server = [`--gateway=${way.origin}`, `--gateway-ca=${ca}`, "--output=kubeconfig"];
    const args = ["keys", "create", name, "--user=gateway-bench", ...server];
    const { status, stdout, stderr } = spawnSync(program, args, { env, encoding: "utf8" });
    const [, key] = /token: (\S+)/.exec(stdout) ?? [];
    if (status !== 0 || key === undefined) throw new Error(`keys create: ${stderr}`);
    return key;
  };
  const { client, bare } = await inTurns(keys, {
    client: (round) => untilWorks(way, () => create(`made-${round}`)),
    bare: (round) =>
      untilWorks(way, async () => {
        const name = `posted-key-${round}`;
        await admin.send(keyRequest(name, "gateway-bench", 3600));
        return plainKeyOf(name);
      }),
  });
  const what = "kubectl latchkey keys create to a request with the key";
  return [latencyRow(what, client, { ceiling: percentile(bare, 0.99) })];
}

/** Milliseconds until a new key works. */
async function untilWorks(way: Way, make: () => Promise<string> | string): Promise<number> {
  const began = performance.now();
  const authorization = `Bearer ${await make()}`;
  while ((await statusThrough({ ...way, authorization }, path)) === 401);
  return performance.now() - began;
}
