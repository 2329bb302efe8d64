import { describe, expect, test } from "vitest";
import { endFailure, noteFailure, failureAt } from "../../src/controllers/failures.ts";
import { type QueueName, revokedTokensKey } from "../../src/controllers/queues.ts";
import { noteRevocation } from "../../src/controllers/revocations.ts";
import type { ObservedFailure } from "../../src/domain/plan/failure-history.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { projectNamespace, rawSharedSecret } from "../support/fake-informers.ts";
import { rawRequested } from "../support/requester-objects.ts";
import { fakeWorld } from "../support/world.ts";

const failed: ObservedFailure = { kind: "failed", reason: "Conflict", message: "changed" };
const refused: ObservedFailure = { kind: "refused", reason: "Forbidden", message: "no" };

async function setup(listed: Parameters<typeof fakeWorld>[0] = {}) {
  const found = await fakeWorld(listed);
  const { world, enqueued, reconcilerOf } = found;
  return {
    ...found,
    record: (failure = failed, queue: QueueName = "key", key = "k") =>
      noteFailure(reconcilerOf(queue), key, failure, world)?.message,
    end: (queue: QueueName = "key", key = "k") => endFailure(reconcilerOf(queue), key, world),
    heard: () => enqueued.splice(0),
  };
}

describe("a failure", () => {
  test("is reported once it has repeated for 30 s, and requeues its key for then", async () => {
    const { clock, world, record, heard } = await setup();
    expect([record(), heard()]).toEqual([undefined, ["key k in 30000 ms"]]);
    clock.advance(29_999);
    expect([record(), heard()]).toEqual([undefined, ["key k in 1 ms"]]);
    clock.advance(1);
    expect([record(), heard()]).toEqual(["changed", []]);
    expect(failureAt("key", "k", world)).toMatchObject({
      ...failed,
      since: clock.now() - 30_000,
    });
    expect(failureAt("token", "k", world)).toBeUndefined();
  });

  test("is reported at once if it requires a change by a user", async () => {
    const { record, heard } = await setup();
    expect([record(refused), heard()]).toEqual(["no", []]);
  });

  test("keeps the reported message while messages vary", async () => {
    const { clock, record } = await setup();
    const reports = Array.from({ length: 5 }, (_, count) => {
      clock.advance(30_000);
      return record({ ...failed, message: `request ${count}` });
    });
    expect(reports).toEqual([undefined, ...Array.from({ length: 4 }, () => "request 1")]);
  });

  test("starts again after a success, which removes it", async () => {
    const { clock, world, record, end } = await setup();
    record();
    clock.advance(20_000);
    end();
    expect(world.memory.failures.key.size).toBe(0);
    record();
    clock.advance(20_000);
    expect(record()).toBeUndefined();
  });
});

describe("what reports a failure is enqueued", () => {
  const hash = requesterHash("ann");
  const listed = {
    namespaces: [projectNamespace("pay")],
    sharedsecrets: [rawSharedSecret("db")],
    ownedaccesskeys: [rawRequested("k")],
    directclusterendpointtokens: [rawRequested("t")],
  };

  const [key, token] = ["key k", "token t"];
  const status = ["sharedSecret team/db in 100 ms"];
  test.for<[QueueName, string, ended: readonly string[], started: readonly string[]]>([
    ["sharedSecret", "team/db", ["sharedSecret team/db high"], []],
    ["key", "k", [`${key} high`], []],
    ["token", "t", [`${token} high`], []],
    ["signingKeys", "signing-keys", ["signingKeys signing-keys high"], []],
    ["connectorData", "c", ["connectorData c high"], []],
    ["copy", "pay/db", status, status],
    ["grant", hash, [`${key} low`, `${token} low`], [`${key} low`, `${token} low`]],
    ["revokedTokens", revokedTokensKey, [`${token} low`], [`${token} low`]],
  ])("for the queue %s, when it starts and when it ends", async ([queue, name, ended, started]) => {
    const { clock, world, record, end, heard } = await setup(listed);
    const revoked = { kind: "revoked", expiresAt: clock.now() + 1, requester: "" } as const;
    noteRevocation("uid-t", revoked, world.enqueuer);
    heard();
    record(refused, queue, name);
    expect(heard()).toEqual(started);
    record(refused, queue, name);
    expect(heard()).toEqual([]);
    end(queue, name);
    expect(heard()).toEqual(ended);
    end(queue, name);
    expect(heard()).toEqual([]);
  });
});

test("the targets with a reported failure are known by namespace, and their failures are logged", async () => {
  const { world, log, record, end } = await setup();
  const inPay = () => [...(world.memory.failedTargets.get("pay") ?? [])];
  record(failed, "copy", "pay/early");
  for (const name of ["a", "b"]) record(refused, "copy", `pay/${name}`);
  record(refused, "copy", "play/c");
  expect(inPay()).toEqual(["pay/a", "pay/b"]);
  expect(log.lines).toHaveLength(3);
  expect(log.lines[0]).toMatchObject({
    fields: { object: "pay/a", reason: "Forbidden", why: "no" },
  });
  end("copy", "pay/a");
  expect(inPay()).toEqual(["pay/b"]);
  end("copy", "pay/b");
  expect([inPay(), [...world.memory.failedTargets.keys()]]).toEqual([[], ["play"]]);
});
