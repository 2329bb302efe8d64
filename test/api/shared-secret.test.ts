import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseData, parseSharedSecret } from "../../src/api/shared-secret.ts";

const metadata = {
  namespace: "ns",
  name: "a",
  uid: "u",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

describe("parseSharedSecret", () => {
  test("returns no data, owner and access without a spec", () => {
    expect(parseSharedSecret({ metadata })).toMatchObject({
      data: {},
      owner: {},
      access: [],
      status: {},
      conditions: [],
    });
  });

  test("reads the values of an object that was not sent yet, and none that is not base64", () => {
    const data = { password: new SecretText("cGFzcw=="), wrong: new SecretText("no base64") };
    const parsed = parseSharedSecret({ metadata, spec: { data } });
    expect(parsed.data).toEqual({ password: data.password });
    expect(parsed.keys).toBe(2);
  });

  test("returns every field, and the data as SecretTexts", () => {
    const access = [
      {
        name: "readers",
        verbs: ["get"],
        subresources: ["status"],
        users: ["ann"],
        teams: ["devs"],
      },
    ];
    const condition = {
      type: "Ready",
      status: "True",
      reason: "Ready",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const seen = parseSharedSecret({
      metadata,
      spec: { data: { password: "Y2FuYXJ5" }, owner: { user: "ann", team: "devs" }, access },
      status: { observedGeneration: 1, conditions: [condition] },
    });
    expect(seen).toMatchObject({
      owner: { user: "ann", team: "devs" },
      access,
      status: { observedGeneration: 1 },
      conditions: [condition],
    });
    expect(SecretText.reveal(seen.data["password"] ?? new SecretText(""))).toBe("Y2FuYXJ5");
    expect(JSON.stringify(seen)).not.toContain("Y2FuYXJ5");
  });

  test("returns empty lists for absent ones, and omits an absent name", () => {
    expect(
      parseSharedSecret({ metadata, spec: { owner: { user: 1 }, access: [{}] } }),
    ).toMatchObject({
      owner: {},
      access: [{ verbs: [], subresources: [], users: [], teams: [] }],
    });
  });

  test("throws without metadata", () => {
    expect(() => parseSharedSecret({ spec: {} })).toThrow("metadata.name is missing");
  });
});

test("parseSharedSecret returns at most 10,001 data keys, and their total number", () => {
  const data = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`k${index}`, "YQ=="]),
  );
  const seen = parseSharedSecret({ metadata, spec: { data } });
  expect([seen.keys, Object.keys(seen.data).length]).toEqual([20_000, 10_001]);
});

test("parseData omits values that are not strings", () => {
  expect(Object.keys(parseData({ data: { a: "YQ==", b: 1, c: null } }))).toEqual(["a"]);
});
