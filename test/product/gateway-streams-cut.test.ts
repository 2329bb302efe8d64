import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type EchoServer, startEchoServer } from "../support/echo-server.ts";
import { eventually } from "../support/eventually.ts";
import { cutWithinMs } from "../support/gateway-request.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { type KubectlProcess, startKubectl, streamProtocols } from "../support/kubectl-process.ts";
import { isRunning, openInPod } from "../support/kubectl-streams.ts";
import { becomes } from "../support/becomes.ts";
import { api, bind, unique } from "../support/policy-request.ts";
import type { RunningPod } from "../support/pod-requests.ts";
import { makeRunningPod } from "./running-pod.ts";
import { skippedWithout } from "../support/skipped.ts";

const patience = { every: 50 } as const;
const editors = unique("editors");

/** A scope of pods whose connecting subresources allow these verbs. */
const scopeWith = (verbs: readonly string[]): object => ({
  rules: [
    { verbs: ["get"], resources: [{ group: "", resources: ["pods", "pods/log"] }] },
    {
      verbs,
      resources: [{ group: "", resources: ["pods/exec", "pods/attach", "pods/portforward"] }],
    },
  ],
});

const merge = (key: KnownKey, spec: object) => api.merge(key.path, { spec });

const losses = [
  { name: "when its key is disabled", endsLogs: true, spec: {}, change: { disabled: true } },
  { name: "when its key is deleted", endsLogs: true, spec: {}, change: undefined },
  {
    name: "when the scope of its key loses the verb create",
    endsLogs: false,
    spec: { scope: scopeWith(["get", "create"]) },
    change: { scope: scopeWith(["get"]) },
  },
];

describe.each(streamProtocols)(
  "a connection to a pod over $protocol ends",
  skippedWithout(inject("kubelet")),
  ({ protocol, env }) => {
    const directory = mkdtempSync(join(tmpdir(), "latchkey-streams-"));
    const started: KubectlProcess[] = [];
    let pod: RunningPod;
    let echo: EchoServer;

    const openAll = (key: KnownKey) =>
      openInPod({
        pod,
        echo,
        directory,
        run: (args) => kubectlThrough(key.key, args, { env }),
        start(args) {
          const child = startKubectl(key.key, args, { env });
          started.push(child);
          return child;
        },
      });

    beforeAll(async () => {
      await bind({ kind: "Group", name: editors }, "cluster-admin");
      [pod, echo] = await Promise.all([makeRunningPod(), startEchoServer()]);
    });
    afterAll(() => {
      for (const child of started) child.kill();
      echo.close();
      rmSync(directory, { recursive: true, force: true });
    });

    it.each(losses)("$name", async ({ name, endsLogs, spec, change }) => {
      const key = await makeKey({ spec: { user: "alice", groups: [editors], ...spec } });
      await becomes("the key to work", () => kubectlThrough(key.key, ["version"]), { code: 0 });
      const { exec, attach, logs, forward, pid } = await openAll(key);
      const began = performance.now();
      await (change === undefined ? api.delete(key.path) : merge(key, change));
      const cut = { exec, attach, forward, ...(endsLogs ? { logs } : {}) };
      const took = await Promise.all(
        Object.entries(cut).map(async ([what, { ended }]) => ({
          what,
          ms: Math.round((await ended).at - began),
        })),
      );
      const times = took.map(({ what, ms }) => `${what} ${ms} ms`).join(", ");
      process.stdout.write(`over ${protocol}, ${name}: ${times}\n`);
      expect(Math.max(...took.map(({ ms }) => ms))).toBeLessThan(cutWithinMs);
      // Over SPDY, kubectl takes the end of any connection for the success of its command.
      expect([protocol, (await exec.ended).code]).not.toEqual(["WebSocket", 0]);
      expect((await forward.ended).code).toBe(1);
      // The API server has ended its connection to the node: the command reads the end of its input.
      await eventually(() => !isRunning(pid), { what: "the command to end", within: cutWithinMs });
      if (endsLogs) return;
      const before = logs.stdout().length;
      await eventually(() => logs.stdout().length > before, { what: "more logs", ...patience });
    });
  },
);
