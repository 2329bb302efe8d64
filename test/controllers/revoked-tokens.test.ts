import { describe, expect, test } from "vitest";
import { components, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import type { Resource } from "../../src/api/resources.ts";
import { Revocations } from "../../src/controllers/revocations.ts";
import { reconcileRevokedTokens, revokedTokensKey } from "../../src/controllers/revoked-tokens.ts";
import { FakeClient, refusal } from "../support/fake-client.ts";
import { ownNamespace, syncedInformers } from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { allFailures } from "./recording-failures.ts";

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
  answer?: ConstructorParameters<typeof FakeClient>[0],
) {
  const { informers, clock } = await syncedInformers({ configmaps: [configMap(data)] });
  const { stores } = informers;
  const client = new FakeClient(answer);
  let due = 0;
  const revocations = new Revocations({ clock, stores, onDue: () => void (due += 1) });
  const deps = {
    ...allFailures(clock),
    ...{ client, clock, stores, revocations, namespace: ownNamespace, log: recordingLog() },
    revocationPace: { nextAt: 0 },
    recordWrite: (_resource: Resource, _answer: unknown) => {},
    recordDelete: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  };
  const reconcile = () => reconcileRevokedTokens(revokedTokensKey, deps);
  const written = () => client.requests.map(({ body }) => recordAt(recordAt(body, "body"), "data"));
  return { clock, client, revocations, reconcile, written, deps, due: () => due };
}

describe("the revoked tokens", () => {
  test("are written together, and a moment later again together", async () => {
    const { revocations, reconcile, written, clock } = await setup();
    revocations.note("a", revoked);
    revocations.note("b", revoked);
    await reconcile();
    revocations.note("c", revoked);
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 100 });
    clock.advance(100);
    await reconcile();
    expect(written()).toEqual([
      { a: expiry, b: expiry },
      { a: expiry, b: expiry, c: expiry },
    ]);
  });

  test("are pending until they are listed", async () => {
    const { revocations, due } = await setup({ a: expiry });
    revocations.note("a", revoked);
    expect([due(), revocations.isPending("a")]).toEqual([0, false]);
    revocations.note("b", revoked);
    expect([due(), revocations.pending()]).toEqual([1, ["b"]]);
  });

  test("leave the list when they are valid again", async () => {
    const { revocations, reconcile, written, due } = await setup({ a: expiry, b: expiry });
    revocations.note("a", { kind: "valid" });
    expect(due()).toBe(1);
    await reconcile();
    expect(written()).toEqual([{ a: null }]);
  });

  test("leave the list even if they became valid while they were being written", async () => {
    const { revocations, due } = await setup();
    revocations.note("a", revoked);
    revocations.note("a", { kind: "valid" });
    expect([due(), revocations.decisions.get("a")]).toEqual([2, { kind: "valid" }]);
  });

  test("that were always valid are not remembered", async () => {
    const { revocations, due } = await setup();
    revocations.note("a", { kind: "valid" });
    expect([due(), revocations.decisions.size]).toEqual([0, 0]);
  });

  test("of a deleted ConfigMap are written again", async () => {
    const { revocations, reconcile, written } = await setup();
    revocations.lost(new Map([["a", revoked]]));
    await reconcile();
    expect(written()).toEqual([{ a: expiry }]);
  });

  test("are forgotten after their expiry", async () => {
    const { revocations, reconcile, clock } = await setup();
    revocations.note("a", revoked);
    clock.advance(2 * 3_600_000);
    await reconcile();
    expect(revocations.decisions.size).toBe(0);
  });

  test("report a failed write, and stay pending", async () => {
    const { revocations, reconcile, deps } = await setup({}, () => refusal("Forbidden"));
    revocations.note("a", revoked);
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect(revocations.isPending("a")).toBe(true);
    deps.clock.advance(31_000);
    await expect(reconcile()).rejects.toMatchObject({ code: "Forbidden" });
    expect(deps.revocationFailures.at(revokedTokensKey)).toMatchObject({ kind: "failed" });
  });
});
