import { describe, expect, test } from "vitest";
import type { AdmissionRequest } from "../../src/api/admission-review.ts";
import { annotations } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { connectorDataRef } from "../../src/domain/access-key/connector-data.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { connectorKeySecret, parseConnectorKey } from "../../src/tokens/connector-data.ts";
import { extractConnectorData, createConnectorKey } from "../../src/webhooks/connector-data.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { recordingLog } from "../support/recording-log.ts";
import { fakeAdmissionContext } from "../support/review-fixture.ts";
import { TestClock } from "../support/test-clock.ts";

const user = { username: "alice", uid: "", groups: [], extra: {} };
const keyWith = (connectorData?: string, given?: object) => ({
  metadata: { name: "k", ...(given === undefined ? {} : { annotations: given }) },
  spec: { identity: connectorData === undefined ? {} : { connectorData } },
});
const marks = parseConnectorKey(JSON.parse(encodeBody(connectorKeySecret("latchkey-system"))));

/**
 * A webhook that has loaded its connector key, or has not; the test sets which Secrets keys
 * reference.
 */
function moving({
  isLoaded = true,
  isServing = () => true,
}: { readonly isLoaded?: boolean; readonly isServing?: () => boolean } = {}) {
  const [clock, claimed] = [new TestClock(), new Set<string>()];
  const client = new FakeClient(() => (isServing() ? {} : refusal("Network")));
  const step = extractConnectorData();
  const context = fakeAdmissionContext({
    client,
    clock,
    connectorKey: { current: () => (isLoaded ? marks : undefined) },
    accessKeys: { references: (secret) => claimed.has(secret) },
  });
  async function sent(
    object: AdmissionRequest["object"],
    {
      oldObject,
      isDryRun = false,
      username = "alice",
    }: {
      readonly oldObject?: AdmissionRequest["object"];
      readonly isDryRun?: boolean;
      readonly username?: string;
    } = {},
  ) {
    const ruling = await step(
      { uid: "r", user: { ...user, username }, isDryRun, namespace: "", object, oldObject },
      context,
    );
    const left = ruling.kind === "admitted" ? ruling.object : {};
    const text = stringAt(
      recordAt(recordAt(left, "metadata"), "annotations"),
      annotations.connectorData,
    );
    return {
      left,
      text,
      code: ruling.kind === "refused" ? ruling.code : 200,
      claim:
        text === undefined ? undefined : connectorDataRef({ [annotations.connectorData]: text }),
    };
  }
  return {
    client,
    clock,
    claimed,
    sent,
    creates: () =>
      client.requests
        .filter(({ verb, dryRun }) => verb === "create" && dryRun !== true)
        .map(({ ref }) => ref.name),
  };
}

describe("connector data", () => {
  test("is stored in a Secret that the object references", async () => {
    const { sent, creates } = moving();
    const { left, claim } = await sent(keyWith("canary"));
    expect([recordAt(recordAt(left, "spec"), "identity"), creates()]).toEqual([
      {},
      [claim?.secret],
    ]);
    expect(JSON.stringify(left)).not.toContain("canary");
  });

  test("that is sent again is recognized by its HMAC, without a write", async () => {
    const { sent, creates } = moving();
    const { left, text } = await sent(keyWith("canary"));
    expect(
      (
        await sent(keyWith("canary", { [annotations.connectorData]: "forged" }), {
          oldObject: left,
        })
      ).text,
    ).toBe(text);
    expect(creates()).toHaveLength(1);
    expect((await sent(keyWith("other"), { oldObject: left })).text).not.toBe(text);
    expect(creates()).toHaveLength(2);
  });

  test("that is omitted is kept, and an empty string removes it", async () => {
    const { sent } = moving();
    const { left, text } = await sent(keyWith("canary"));
    expect((await sent(keyWith(), { oldObject: left })).text).toBe(text);
    expect((await sent(keyWith(""), { oldObject: left })).text).toBeUndefined();
  });

  test("is not stored by a dry run", async () => {
    const { sent, creates } = moving();
    const { left, claim } = await sent(keyWith("canary"), { isDryRun: true });
    expect([JSON.stringify(left).includes("canary"), claim === undefined, creates()]).toEqual([
      false,
      false,
      [],
    ]);
  });

  test("is rejected until the HMAC key is loaded, without a request for it", async () => {
    const { sent, client } = moving({ isLoaded: false });
    expect([(await sent(keyWith("canary"))).code, client.lines]).toEqual([503, []]);
  });

  test("that could not be stored does not count, so that retries during an outage lock out no user", async () => {
    let isServing = false;
    const { sent } = moving({ isServing: () => isServing });
    for (let tries = 0; tries < 40; tries += 1)
      await expect(sent(keyWith("canary"))).rejects.toMatchObject({ code: "Network" });
    isServing = true;
    expect((await sent(keyWith("canary"))).code).toBe(200);
  });

  test("is rejected while too many Secrets are unreferenced, until keys reference them or for three minutes", async () => {
    const { sent, creates, claimed, clock } = moving();
    const codes = async (count: number, username: string): Promise<readonly number[]> =>
      Promise.all(
        Array.from(
          { length: count },
          async () => (await sent(keyWith("canary"), { username })).code,
        ),
      );
    expect(await codes(18, "alice")).toEqual([...Array.from({ length: 16 }, () => 200), 429, 429]);
    expect(await codes(18, "bob")).toEqual([...Array.from({ length: 16 }, () => 200), 429, 429]);
    expect([await codes(1, "carol"), creates().length]).toEqual([[429], 32]);
    claimed.add(creates()[0] ?? "");
    expect([await codes(1, "alice"), await codes(1, "alice")]).toEqual([[200], [429]]);
    clock.advance(180_000);
    expect(await codes(1, "alice")).toEqual([200]);
  });
});

const keySecret: unknown = JSON.parse(encodeBody(connectorKeySecret("latchkey-system")));

function loading(has: { key: boolean; isRaced?: boolean; failures?: number }) {
  const [clock, stop, log] = [new TestClock(), new AbortController(), recordingLog()];
  let failures = has.failures ?? 0;
  const client = new FakeClient(({ verb, ref, body }) => {
    failures -= 1;
    if (failures >= 0) return refusal("ServerError");
    if (verb === "get") return has.key ? keySecret : refusal("NotFound", { objectName: ref.name });
    has.key = true;
    return has.isRaced === true ? refusal("AlreadyExists") : JSON.parse(encodeBody(body));
  });
  const key = createConnectorKey({ client, namespace: "latchkey-system", clock, log });
  return { clock, stop, log, client, key, ended: key.run(stop.signal) };
}

const place = "secrets latchkey-system/latchkey-connector-key";

test.each<[string, Parameters<typeof loading>[0], readonly string[]]>([
  ["is read", { key: true }, [`get ${place}`]],
  ["is created by the first replica", { key: false }, [`get ${place}`, `create ${place}`]],
  [
    "is read if another replica has created it",
    { key: false, isRaced: true },
    [`get ${place}`, `create ${place}`, `get ${place}`],
  ],
])("the connector key %s in advance", async (_rule, has, lines) => {
  const { key, client, ended } = loading(has);
  expect(key.current()).toBeUndefined();
  await ended;
  expect([key.current() !== undefined, client.lines]).toEqual([true, lines]);
});

test("retries after a failure, and logs it without the key", async () => {
  const { key, clock, log, ended } = loading({ key: true, failures: 2 });
  await clock.run(5_000);
  await ended;
  expect([key.current() !== undefined, log.lines.map(({ level }) => level)]).toEqual([
    true,
    ["warn", "warn"],
  ]);
});

test("stops when the signal aborts", async () => {
  const { key, stop, clock, ended } = loading({ key: true, failures: 100 });
  await clock.run(1_000);
  stop.abort();
  await ended;
  expect([key.current(), clock.pending]).toEqual([undefined, 0]);
});
