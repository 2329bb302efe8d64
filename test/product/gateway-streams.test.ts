import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type EchoServer, startEchoServer } from "../support/echo-server.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { type KubectlProcess, startKubectl, streamProtocols } from "../support/kubectl-process.ts";
import { podActions } from "../support/kubectl-streams.ts";
import { becomes } from "../support/becomes.ts";
import { bind, unique } from "../support/policy-request.ts";
import type { RunningPod } from "../support/pod-requests.ts";
import { makeRunningPod } from "./running-pod.ts";
import { skippedWithout } from "../support/skipped.ts";

const editors = unique("editors");

describe.each(streamProtocols)(
  "kubectl through the gateway over $protocol",
  skippedWithout(inject("kubelet")),
  ({ env }) => {
    const directory = mkdtempSync(join(tmpdir(), "latchkey-streams-"));
    const started: KubectlProcess[] = [];
    let key: KnownKey;
    let pod: RunningPod;
    let echo: EchoServer;

    const inPod = (verb: string, ...args: readonly string[]): readonly string[] => [
      ...[verb, `--namespace=${pod.namespace}`, ...args],
    ];
    const run = (args: readonly string[], by = key) => kubectlThrough(by.key, args, { env });
    const start = (args: readonly string[]): KubectlProcess => {
      const child = startKubectl(key.key, args, { env });
      started.push(child);
      return child;
    };
    const keyWith = async (spec: object = {}): Promise<KnownKey> => {
      const made = await makeKey({ spec: { user: "alice", groups: [editors], ...spec } });
      await becomes("the key to work", () => run(["version"], made), { code: 0 });
      return made;
    };

    beforeAll(async () => {
      await bind({ kind: "Group", name: editors }, "cluster-admin");
      [key, pod, echo] = await Promise.all([keyWith(), makeRunningPod(), startEchoServer()]);
    });
    afterAll(() => {
      for (const child of started) child.kill();
      echo.close();
      rmSync(directory, { recursive: true, force: true });
    });

    it.each(podActions)("$name", async ({ outcome, expected }) => {
      const client = { pod, echo, directory, run, start };
      expect(await outcome(client)).toEqual(expected(client));
    });

    it.each([
      ["exec", ["--", "true"]],
      ["attach", []],
      ["port-forward", [":80"]],
    ])("rejects %s with a key whose scope lacks the verb create", async (verb, args) => {
      const resources = ["pods", "pods/exec", "pods/attach", "pods/portforward"].map(
        (resource) => ({ group: "", resources: [resource] }),
      );
      const reader = await keyWith({ scope: { rules: [{ verbs: ["get", "list"], resources }] } });
      const { code, stderr } = await run(inPod(verb, pod.name, ...args), reader);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(
          "forbidden: the scope of this credential does not allow create pods/",
        ),
      ]);
      expect((await run(inPod("get", "pod", pod.name), reader)).code).toBe(0);
    });
  },
);
