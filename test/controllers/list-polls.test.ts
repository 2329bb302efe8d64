import { describe, expect, test } from "vitest";
import { publishedListRoutes } from "../../src/controllers/issuer-routes.ts";
import { ListPolls } from "../../src/controllers/list-polls.ts";
import { ServedRevocations } from "../../src/controllers/served-revocations.ts";
import { components, labels, ownObjects } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { type HttpRequest, routed } from "../../src/runtime/routes.ts";
import { isRevoked, verifyRevokedList } from "../../src/tokens/revoked-list.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { publicJwks } from "../../src/tokens/signing-keys.ts";
import { ownNamespace, rawSigningKeys, syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { settled } from "../support/test-clock.ts";

const issuer = "https://latchkey.example/id";
const key = keyOf({ namespace: ownNamespace, name: ownObjects.signingKeys });
const expiry = "2026-01-01T01:00:00Z";

function configMap(version: number, data: Readonly<Record<string, string>>): RawObject {
  return rawObject(
    {
      namespace: ownNamespace,
      name: "latchkey-revoked-0",
      labels: { [labels.component]: components.revokedTokens },
      resourceVersion: `${version}`,
    },
    { data },
  );
}

const secret = rawSigningKeys(undefined, { resourceVersion: "10" });

async function setup(configmaps: readonly RawObject[] = [configMap(20, { a: expiry })]) {
  const { informers, listWatch, clock } = await syncedInformers({ secrets: [secret], configmaps });
  const keys = () => informers.stores.signingKeys.get(key);
  // The watches of the fake never end, so that nothing proves them after 30 s.
  const state = { isFresh: true };
  const known = informers.published.revoked;
  const published = {
    isListed: () => known.isListed(),
    isFresh: () => state.isFresh,
    onChange: (listener: () => void) => known.onChange(listener),
  };
  const list = new ServedRevocations(issuer, informers.stores);
  const polls = new ListPolls(list, { keys, published, clock });
  const handler = routed(publishedListRoutes(issuer, "revoked", polls));
  const get = async (query?: string, more: Partial<HttpRequest> = {}, address = "192.0.2.1") =>
    handler(
      {
        method: "GET",
        path: "/id/openid/v1/revoked",
        body: "",
        ...(query !== undefined && { query }),
        ...more,
      },
      { clientName: undefined, address },
    );
  const verified = async (text: string) => {
    const found = keys();
    if (found === undefined) throw new Error("no keys");
    const parsed = parseVerificationKeys(Buffer.from(JSON.stringify(publicJwks(found))));
    if (!parsed.ok) throw new Error(parsed.reason);
    const terms = { keys: parsed.keys, issuer, now: clock.now() };
    const result = await verifyRevokedList(text, terms);
    if (!result.ok) throw new Error(result.reason);
    return result.list;
  };
  return { get, polls, clock, listWatch, verified, state, informers };
}

describe("the list of revoked tokens", () => {
  test("is signed, is never cached, and has the sum of both resourceVersions in its seq", async () => {
    const { get, verified } = await setup();
    const { status, headers, body } = await get();
    expect([status, headers]).toEqual([
      200,
      { "content-type": "application/jwt", "cache-control": "no-store" },
    ]);
    const list = await verified(body);
    expect([list.seq, isRevoked(list, "a"), isRevoked(list, "b")]).toEqual([
      { epoch: 0, n: 30 },
      true,
      false,
    ]);
  });

  test.for(["after=0.29", "after=1.31", "after=", "after=x", "other=0.30"])(
    "is answered at once for ?%s",
    async (query) => {
      const { get } = await setup();
      expect((await get(query)).status).toBe(200);
    },
  );

  test("is refused until the first ConfigMap exists", async () => {
    const { get } = await setup([]);
    expect(await get()).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  });

  test("is signed once for each change, and again after a minute", async () => {
    const { get, clock } = await setup();
    const first = await get();
    expect((await get()).body).toBe(first.body);
    clock.advance(60_000);
    expect((await get()).body).not.toBe(first.body);
  });
});

describe("a poll for a newer list", () => {
  test("is answered when a token is revoked", async () => {
    const { get, polls, listWatch, verified, clock } = await setup();
    const waiting = get("after=0.30");
    await settled();
    expect(polls.waiting).toBe(1);
    listWatch.emit("configmaps", "MODIFIED", configMap(21, { a: expiry, b: expiry }));
    await settled();
    const list = await verified((await waiting).body);
    expect([list.seq.n, isRevoked(list, "b"), polls.waiting, clock.pending]).toEqual([
      31,
      true,
      0,
      expect.any(Number),
    ]);
  });

  test("is answered when the signing keys change", async () => {
    const { get, listWatch, verified } = await setup();
    const waiting = get("after=0.30");
    await settled();
    const metadata = { ...secret.metadata, resourceVersion: "22" };
    listWatch.emit("secrets", "MODIFIED", { ...secret, metadata });
    expect((await verified((await waiting).body)).seq.n).toBe(42);
  });

  test("ends with 304 after 50 s without a change", async () => {
    const { get, clock } = await setup();
    const waiting = get("after=0.30");
    await clock.run(50_000);
    expect(await waiting).toMatchObject({ status: 304, body: "" });
  });

  test("by a client with a newer list waits until this replica has it, too", async () => {
    const { get, listWatch } = await setup();
    const waiting = get("after=0.31");
    await settled();
    listWatch.emit("configmaps", "MODIFIED", configMap(21, { a: expiry, b: expiry }));
    expect(await waiting).toMatchObject({ status: 304, body: "" });
  });

  test("by a client with a newer list ends after 5 s with that of this replica: etcd was restored", async () => {
    const { get, clock, verified } = await setup();
    const waiting = get("after=0.31");
    await clock.run(5_000);
    expect((await verified((await waiting).body)).seq.n).toBe(30);
  });

  test("waits for the next signature while changes stream in", async () => {
    const { get, clock, listWatch, verified } = await setup();
    await get();
    const waiting = get("after=0.30");
    await settled();
    listWatch.emit("configmaps", "MODIFIED", configMap(21, { b: expiry }));
    await clock.run(100);
    listWatch.emit("configmaps", "MODIFIED", configMap(22, { c: expiry }));
    await clock.run(150);
    expect((await verified((await waiting).body)).seq.n).toBe(32);
  });

  test("is not confirmed by a replica that is cut off meanwhile, which closes the connection", async () => {
    const { get, polls, clock, state } = await setup();
    const waiting = get("after=0.30");
    await clock.run(10_000);
    state.isFresh = false;
    await clock.run(5_000);
    const refusal = { status: 503, headers: { connection: "close", "retry-after": "1" } };
    expect(await waiting).toMatchObject(refusal);
    expect(await get()).toMatchObject(refusal);
    expect(polls.waiting).toBe(0);
    state.isFresh = true;
    expect((await get()).status).toBe(200);
  });

  test("asks stores that the API server must prove every 30 s", async () => {
    const { informers, clock } = await setup();
    expect(informers.published.revoked.isFresh()).toBe(true);
    clock.advance(30_000);
    expect(informers.published.revoked.isFresh()).toBe(false);
  });

  test("gives up its place when its client is gone", async () => {
    const { get, polls } = await setup();
    const closed: (() => void)[] = [];
    void get("after=0.30", { onClose: (listener) => void closed.push(listener) });
    await settled();
    closed.forEach((close) => close());
    await settled();
    expect(polls.waiting).toBe(0);
  });

  test("waits though 1,000 others of another address do, and the oldest of these ends with 304", async () => {
    const { get, polls, clock, verified, listWatch } = await setup();
    const honest = [get("after=0.30", {}, "192.0.2.2")];
    const others = Array.from({ length: 999 }, () => get("after=0.30"));
    honest.push(get("after=0.30", {}, "192.0.2.2"));
    expect(await others[0]).toMatchObject({ status: 304, body: "" });
    others.push(get("after=0.30"));
    expect(await others[1]).toMatchObject({ status: 304, body: "" });
    await clock.run(10_000);
    expect(polls.waiting).toBe(1_000);
    listWatch.emit("configmaps", "MODIFIED", configMap(21, { a: expiry, b: expiry }));
    for (const { body } of await Promise.all(honest)) expect((await verified(body)).seq.n).toBe(31);
  });

  test("ends when the replica stops", async () => {
    const { get, polls } = await setup();
    const waiting = get("after=0.30");
    await settled();
    polls.end();
    expect((await waiting).status).toBe(304);
    expect((await get("after=0.30")).status).toBe(304);
  });
});
