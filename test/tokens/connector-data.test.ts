import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { connectorDataRefText } from "../../src/domain/access-key/connector-data-ref.ts";
import { encodeBody } from "../../src/kube/encode.ts";
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

describe("an object loses its connector data", () => {
  test.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    ["of its spec, and nothing else", withData, clean],
    [
      "of what was last applied",
      { ...clean, metadata: { annotations: { [applied]: JSON.stringify(withData), a: "b" } } },
      { ...clean, metadata: { annotations: { [applied]: `${JSON.stringify(clean)}\n`, a: "b" } } },
    ],
    [
      "with all that was last applied where that cannot be read",
      { metadata: { annotations: { [applied]: '{"connectorData":' } } },
      { metadata: { annotations: {} } },
    ],
    [
      "with all that was last applied where that is no object with a spec",
      { metadata: { annotations: { [applied]: '"connectorData canary"' } } },
      { metadata: { annotations: {} } },
    ],
    [
      "and keeps what was last applied without it",
      { metadata: { annotations: { [applied]: JSON.stringify(clean) } } },
      { metadata: { annotations: { [applied]: JSON.stringify(clean) } } },
    ],
    [
      "and every claim that it was sent with",
      { metadata: { annotations: { [annotations.connectorData]: "forged" } } },
      { metadata: { annotations: {} } },
    ],
    ["or stays as it is without any", clean, clean],
  ])("%s", (_rule, object, left) => {
    expect(withoutConnectorData(object, undefined)).toEqual(left);
  });

  test("and gets the claim that it is told", () => {
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

test("connector data is read in a coat, the empty text too, and nothing that is no text", () => {
  expect(
    [
      withData,
      { spec: { identity: { connectorData: "" } } },
      clean,
      { spec: { identity: { connectorData: 7 } } },
    ].map((object) => connectorDataIn(object)?.isEmpty),
  ).toEqual([false, true, undefined, undefined]);
});

test("a claim is known again by the same data and key alone", () => {
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

test("the Secret holds the data verbatim, and what is printed of it does not", () => {
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

test("a Secret without a key is told by name", () => {
  expect(() => parseConnectorKey({ data: { key: "c2hvcnQ=" } })).toThrow(
    "Secret latchkey-connector-key must contain a key of 32 bytes; delete the Secret to generate a new key",
  );
});
