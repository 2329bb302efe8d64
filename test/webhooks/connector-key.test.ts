import { expect, test } from "vitest";
import { encodeBody } from "../../src/kube/encode.ts";
import { connectorKeySecret } from "../../src/tokens/connector-data.ts";
import { createConnectorKey } from "../../src/webhooks/connector-key.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

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
