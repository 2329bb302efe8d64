import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { connectorDataRefText } from "../../src/domain/access-key/connector-data.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import {
  connectorDataIn,
  connectorKeySecret,
  connectorSecret,
  isRefTo,
  newConnectorDataRef,
  parseConnectorKey,
  withoutConnectorData,
} from "../../src/tokens/connector-data.ts";

const data = new SecretText("canary-data");
const keyOf = (): SecretText =>
  parseConnectorKey(JSON.parse(encodeBody(connectorKeySecret("latchkey-system"))));
const key = keyOf();
const applied = "kubectl.kubernetes.io/last-applied-configuration";
const withData = {
  metadata: { name: "k" },
  spec: { user: "alice", identity: { email: "e", connectorData: "canary-data" } },
};
const clean = { metadata: { name: "k" }, spec: { user: "alice", identity: { email: "e" } } };

describe("withoutConnectorData", () => {
  test.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ["removes only the connector data from the spec", withData, clean],
    [
      "removes the data from the last-applied-configuration annotation",
      { ...clean, metadata: { annotations: { [applied]: JSON.stringify(withData), a: "b" } } },
      { ...clean, metadata: { annotations: { [applied]: `${JSON.stringify(clean)}\n`, a: "b" } } },
    ],
    [
      "removes a last-applied-configuration annotation that is not JSON",
      { metadata: { annotations: { [applied]: '{"connectorData":' } } },
      { metadata: { annotations: {} } },
    ],
    [
      "removes a last-applied-configuration annotation that is not an object with a spec",
      { metadata: { annotations: { [applied]: '"connectorData canary"' } } },
      { metadata: { annotations: {} } },
    ],
    [
      "keeps a last-applied-configuration annotation without the data",
      { metadata: { annotations: { [applied]: JSON.stringify(clean) } } },
      { metadata: { annotations: { [applied]: JSON.stringify(clean) } } },
    ],
    [
      "removes a reference from the request",
      { metadata: { annotations: { [annotations.connectorData]: "forged" } } },
      { metadata: { annotations: {} } },
    ],
    ["does not change an object without connector data", clean, clean],
  ])("%s", (_rule, object, left) => {
    expect(withoutConnectorData(object, undefined)).toEqual(left);
  });

  test("sets the given reference", () => {
    const claim = newConnectorDataRef(data, key);
    expect(withoutConnectorData(withData, claim)).toEqual({
      ...clean,
      metadata: {
        name: "k",
        annotations: { [annotations.connectorData]: connectorDataRefText(claim) },
      },
    });
  });
});

test("connectorDataIn returns a SecretText for every string, and undefined for other values", () => {
  expect(
    [
      withData,
      { spec: { identity: { connectorData: "" } } },
      clean,
      { spec: { identity: { connectorData: 7 } } },
    ].map((object) => connectorDataIn(object)?.isEmpty),
  ).toEqual([false, true, undefined, undefined]);
});

test("isRefTo matches only the data, the HMAC key and the Secret of the reference", () => {
  const claim = newConnectorDataRef(data, key);
  const forgeries = [
    newConnectorDataRef(data, key),
    { ...claim, secret: newConnectorDataRef(data, key).secret },
  ];
  expect(isRefTo(claim, new SecretText("canary-data"), key)).toBe(true);
  expect([
    isRefTo(claim, new SecretText("other"), key),
    isRefTo(claim, data, keyOf()),
    forgeries[1] !== undefined && isRefTo(forgeries[1], data, key),
  ]).toEqual([false, false, false]);
  expect(forgeries[0]?.secret).not.toBe(claim.secret);
});

test("connectorSecret contains the data unchanged, and does not print it", () => {
  const secret = connectorSecret(newConnectorDataRef(data, key), data, "latchkey-system");
  expect(JSON.parse(encodeBody(secret))).toMatchObject({
    metadata: {
      namespace: "latchkey-system",
      labels: { "management.service/component": "connector-data" },
    },
    immutable: true,
    data: { connectorData: Buffer.from("canary-data").toString("base64") },
  });
  expect(JSON.stringify(secret)).not.toContain(Buffer.from("canary-data").toString("base64"));
});

test("parseConnectorKey throws an error that names the Secret if the key is too short", () => {
  expect(() => parseConnectorKey({ data: { key: "c2hvcnQ=" } })).toThrow(
    "Secret latchkey-connector-key must contain a key of 32 bytes; delete the Secret to generate a new key",
  );
});
