import { describe, expect, test } from "vitest";
import { components, labels } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import { revokedTokensReconciler } from "../../../src/controllers/kinds/revoked-tokens.ts";
import { failureAt } from "../../../src/controllers/failures.ts";
import { revokedTokensKey } from "../../../src/controllers/queues.ts";
import {
  isRevocationPending,
  noteLost,
  noteRevocation,
  pendingRevocations,
} from "../../../src/controllers/revocations.ts";
import type { RevocationDecision } from "../../../src/domain/endpoint-token/revocation.ts";
import { refusal } from "../../support/fake-client.ts";
import { ownNamespace } from "../../support/fake-informers.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { fakeWorld } from "../../support/world.ts";

const expiresAt = Date.UTC(2026, 0, 1, 1);
const expiry = "2026-01-01T01:00:00Z";
const revoked = { kind: "revoked", expiresAt, requester: "" } as const;
const configMap = (data: Readonly<Record<string, string>>) =>
  rawObject(
    {
      namespace: ownNamespace,
      name: "latchkey-revoked-0",
      labels: { [labels.component]: components.revokedTokens },
    },
    { data },
  );

async function setup(
  data: Readonly<Record<string, string>> = {},
  options?: Parameters<typeof fakeWorld>[1],
) {
  const found = await fakeWorld({ configmaps: [configMap(data)] }, options);
  const { client, clock, enqueued, world } = found;
  const { stores, memory, enqueuer } = world;
  const context = { stores, memory, clock, queues: enqueuer.queues };
  const { revocations } = memory;
  return {
    ...found,
    context,
    revocations,
    note: (jti: string, decision: RevocationDecision = revoked) =>
      noteRevocation(jti, decision, context),
    reconcile: () => found.reconcile(revokedTokensReconciler, revokedTokensKey),
    written: () => client.requests.map(({ body }) => recordAt(recordAt(body, "body"), "data")),
    due: () => enqueued.length,
  };
}

describe("the revoked tokens", () => {
  test("are written together, and a moment later again together", async () => {
    const { note, reconcile, written, clock } = await setup();
    note("a");
    note("b");
    await reconcile();
    note("c");
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 100 });
    clock.advance(100);
    await reconcile();
    expect(written()).toEqual([
      { a: expiry, b: expiry },
      { a: expiry, b: expiry, c: expiry },
    ]);
  });

  test("are pending until they are listed", async () => {
    const { note, context, due } = await setup({ a: expiry });
    note("a");
    expect([due(), isRevocationPending("a", context)]).toEqual([0, false]);
    note("b");
    expect([due(), pendingRevocations(context)]).toEqual([1, ["b"]]);
  });

  test("leave the list when they are valid again", async () => {
    const { note, reconcile, written, due } = await setup({ a: expiry, b: expiry });
    note("a", { kind: "valid" });
    expect(due()).toBe(1);
    await reconcile();
    expect(written()).toEqual([{ a: null }]);
  });

  test("leave the list even if they became valid while they were being written", async () => {
    const { note, revocations, due } = await setup();
    note("a");
    note("a", { kind: "valid" });
    expect([due(), revocations.get("a")]).toEqual([2, { kind: "valid" }]);
  });

  test("that were always valid are not remembered", async () => {
    const { note, revocations, due } = await setup();
    note("a", { kind: "valid" });
    expect([due(), revocations.size]).toEqual([0, 0]);
  });

  test("of a deleted ConfigMap are written again", async () => {
    const { context, reconcile, written } = await setup();
    noteLost(new Map([["a", revoked]]), context);
    await reconcile();
    expect(written()).toEqual([{ a: expiry }]);
  });

  test("are forgotten after their expiry", async () => {
    const { note, revocations, reconcile, clock } = await setup();
    note("a");
    clock.advance(2 * 3_600_000);
    await reconcile();
    expect(revocations.size).toBe(0);
  });

  test("report a failed write, and stay pending", async () => {
    const { note, context, clock, reconcile } = await setup(
      {},
      { answer: () => refusal("Forbidden") },
    );
    note("a");
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect(isRevocationPending("a", context)).toBe(true);
    clock.advance(31_000);
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect(failureAt("revokedTokens", revokedTokensKey, context)).toMatchObject({
      kind: "failed",
    });
  });
});
