import { describe, expect, test } from "vitest";
import type { ObservedAccessKey } from "../../src/api/owned-access-key.ts";
import type { Patch } from "../../src/kube/client/client.ts";
import { KubeError, type KubeErrorCode } from "../../src/kube/client/kube-error.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { LastActivity } from "../../src/authn/last-activity.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { resolvedKeyWith } from "../support/review-fixture.ts";

const failure = (code: KubeErrorCode): KubeError => new KubeError("x", { code, status: 0 });

/** A LastActivity with one key, which changes by its own writes and by `see`. */
function recording({
  answers = [],
}: { readonly answers?: readonly (KubeErrorCode | "ok")[] } = {}) {
  const [clock, stop, log] = [new TestClock(), new AbortController(), recordingLog()];
  const patches: Patch["body"][] = [];
  const left = [...answers];
  let key: ObservedAccessKey | undefined = resolvedKeyWith().key;
  const see = (lastActivity: string | undefined, resourceVersion = "8"): void => {
    if (key !== undefined)
      key = {
        ...key,
        metadata: { ...key.metadata, resourceVersion },
        ...(lastActivity === undefined ? {} : { lastActivity }),
      };
  };
  const lastActivity = new LastActivity({
    accessKeys: {
      byId: (uid) => (uid === key?.metadata.uid ? { ...resolvedKeyWith(), key } : undefined),
      observe: () => see(String(Reflect.get(Object(patches.at(-1)?.["status"]), "lastActivity"))),
    },
    client: {
      async patch(_resource, _ref, { body }) {
        const answer = left.shift() ?? "ok";
        if (answer !== "ok") throw failure(answer);
        patches.push(body);
      },
    },
    clock,
    random: () => 0.5,
    log,
    metrics: createMetrics(),
    yielder: new Yielder(clock),
  });
  const running = lastActivity.run(stop.signal);
  return {
    clock,
    patches,
    log,
    see,
    forget: () => (key = undefined),
    use: () => key !== undefined && lastActivity.note(key),
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

describe("the last use of a key", () => {
  test("is written once for uses in quick succession, with the observed resourceVersion", async () => {
    const seen = recording();
    seen.use();
    seen.use();
    await seen.clock.run(1_000);
    seen.use();
    await seen.clock.run(1_000);
    expect(seen.patches).toEqual([
      {
        metadata: { resourceVersion: "7", uid: "uid-one" },
        status: { lastActivity: "2026-01-01T00:00:00Z" },
      },
    ]);
    await seen.clock.run(600_000);
    seen.use();
    await seen.clock.run(1_000);
    expect(seen.patches).toHaveLength(2);
    await seen.end();
  });

  test("is retried after a conflict with the new resourceVersion", async () => {
    const seen = recording({ answers: ["Conflict"] });
    seen.use();
    await seen.clock.run(125);
    seen.see(undefined, "9");
    await seen.clock.run(10_000);
    expect(seen.patches).toEqual([
      {
        metadata: { resourceVersion: "9", uid: "uid-one" },
        status: { lastActivity: "2026-01-01T00:00:00Z" },
      },
    ]);
    await seen.end();
  });

  test("is not written if another replica wrote it first", async () => {
    const seen = recording({ answers: ["Conflict"] });
    seen.use();
    await seen.clock.run(125);
    seen.see("2026-01-01T00:00:00Z", "9");
    await seen.clock.run(10_000);
    expect(seen.patches).toEqual([]);
    await seen.end();
  });

  test.each<[string, "ServerError" | "NotFound"]>([
    ["is retried after a failure", "ServerError"],
    ["is discarded if the object does not exist", "NotFound"],
  ])("%s", async (_rule, code) => {
    const seen = recording({ answers: [code] });
    seen.use();
    await seen.clock.run(60_000);
    expect(seen.patches).toHaveLength(code === "NotFound" ? 0 : 1);
    await seen.end();
  });

  test("is written at shutdown", async () => {
    const seen = recording();
    seen.use();
    await seen.end();
    expect(seen.patches).toHaveLength(1);
  });

  test("is logged once and without a name if it cannot be written at shutdown", async () => {
    const seen = recording({ answers: ["Network"] });
    seen.use();
    await seen.end();
    expect(seen.log.lines.filter(({ level }) => level === "warn")).toEqual([
      {
        level: "warn",
        fields: { count: 1 },
        message: "writing last activity of access keys failed",
      },
    ]);
  });

  test("is discarded if the key was deleted", async () => {
    const seen = recording();
    seen.use();
    seen.forget();
    await settled();
    await seen.end();
    expect(seen.patches).toEqual([]);
  });
});
