import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { clientBundle } from "../support/bundle.ts";
import { plugin } from "../support/cli-form.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import {
  connectedName,
  type DirectFixture,
  directPath,
  startDirectFixture,
  tokenPath,
} from "../support/direct-fixture.ts";
import { bindClusterRole } from "../support/latchkey-objects.ts";
import { startExecClient } from "../support/exec-client.ts";
import type { LineProgram } from "../support/line-program.ts";
import { isMissing, type Missing, orMissing } from "../support/prepared.ts";
import { allowRequesters } from "../support/scenario-play.ts";
import { get } from "../support/cluster-connection.ts";

const run = promisify(execFile);

describe.skipIf(!hasDedicatedClusters)("the exec plugin of kubectl latchkey", () => {
  let fixture: DirectFixture;
  let env: Readonly<Record<string, string>>;
  let kubeconfig: string;
  /** A line for each time that client-go runs the plugin. */
  let calls: string;
  let clientGo: LineProgram | Missing | undefined;

  beforeAll(async () => {
    fixture = await startDirectFixture(async (central) => {
      await allowRequesters(central);
      const group = { kind: "Group", name: "devs" } as const;
      await central.arrange(bindClusterRole("devs", "latchkey-requester", [group]));
    });
    const { controlPlane } = fixture.central;
    const { directory } = controlPlane;
    const { bin, words } = plugin([process.execPath, await clientBundle(() => {})], directory);
    const { PATH = "", HOME = "" } = process.env;
    const caches = { KUBECACHEDIR: join(directory, "cache"), XDG_CACHE_HOME: directory };
    env = { PATH: `${bin}:${PATH}`, HOME, ...caches, KUBERC: "off" };
    const ca = join(directory, "endpoint.crt");
    writeFileSync(ca, fixture.server.certificateAuthority);
    kubeconfig = join(directory, "east.yaml");
    const [node = "", ...bundle] = words;
    const flags = [
      `--address=${fixture.server.url}${directPath}`,
      `--address-ca=${ca}`,
      "--ttl=60s",
      `--output-file=${kubeconfig}`,
      `--kubeconfig=${controlPlane.kubeconfigs["bob"]}`,
    ];
    execFileSync(node, [...bundle, "kubeconfig", connectedName, ...flags], { env, stdio: "pipe" });
    calls = join(directory, "calls");
    const counting = join(directory, "counting-bin");
    mkdirSync(counting);
    const script = `#!/bin/sh\necho called >> ${calls}\nexec ${join(bin, "kubectl-latchkey")} "$@"\n`;
    writeFileSync(join(counting, "kubectl-latchkey"), script, { mode: 0o755 });
    const starting = startExecClient(kubeconfig, {
      env: { ...env, PATH: `${counting}:${PATH}` },
      report: (line) => void process.stderr.write(`exec client: ${line}\n`),
    });
    clientGo = await orMissing(starting);
  });
  afterAll(async () => {
    if (!isMissing(clientGo)) clientGo?.stop();
    await fixture?.stop();
  });

  it("keeps kubectl and a client-go program working over three expiries", async ({ skip }) => {
    const client = clientGo;
    if (client === undefined || isMissing(client)) return skip(client?.missing);
    const { kubectl } = fixture.central.controlPlane;
    const kubectlName = () =>
      run(kubectl, ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
        env: { ...env, KUBECONFIG: kubeconfig },
      }).then(
        ({ stdout }) => stdout,
        (error: unknown) => String(error),
      );
    const clientName = async () => recordAt({ answer: (await client.ask([{}]))[0] }, "answer");
    /** The ends of the tokens that the plugin made, by name. */
    const ends = new Map<string, number>();
    const expired = () => [...ends.values()].filter((end) => end < Date.now()).length;
    const renewals = () => readFileSync(calls, "utf8").split("\n").length - 2;
    const wrong: unknown[] = [];
    let answers = 0;
    do {
      const [byKubectl, byClient] = await Promise.all([kubectlName(), clientName()]);
      if (byKubectl !== "bob") wrong.push(byKubectl);
      if (byClient["user"] !== "bob") wrong.push(byClient);
      answers++;
      const list = await fixture.central.arrange(get(tokenPath()));
      for (const object of listAt(list, "items")) {
        const end = Date.parse(stringAt(recordAt(object, "status"), "expiresAt") ?? "");
        if (!Number.isNaN(end)) ends.set(stringAt(recordAt(object, "metadata"), "name") ?? "", end);
      }
      await pause(500);
    } while (wrong.length === 0 && (expired() < 3 || renewals() < 3));
    expect(wrong).toEqual([]);
    expect(answers).toBeGreaterThan(3);
    // The plugin reads its token again: it made no token for each of the calls.
    expect(ends.size).toBeLessThan(answers + renewals());
  });
});
