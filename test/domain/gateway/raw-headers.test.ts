import { describe, expect, it } from "vitest";
import {
  fieldsNamed,
  hasName,
  hopByHop,
  tokensOf,
  valuesOfField,
} from "../../../src/domain/gateway/raw-headers.ts";
import { withLowerNames } from "../../../src/runtime/exchange.ts";

const raw = withLowerNames([
  ...["Host", "a", "CONNECTION", "Keep-Alive, ,\tX-A ", "connection", "UPGRADE", "x", ""],
]);

describe("raw headers", () => {
  it("have the fields of such names, with values as they are", () => {
    expect(fieldsNamed(raw, (name) => name !== "host")).toEqual([
      ...["connection", "Keep-Alive, ,\tX-A ", "connection", "UPGRADE", "x", ""],
    ]);
    expect(hasName(raw, (name) => name === "x")).toBe(true);
    expect(hasName(raw, (name) => name === "UPGRADE")).toBe(false);
  });

  it("have the values of a name, whatever its spelling", () => {
    expect(valuesOfField(raw, "connection")).toEqual(["Keep-Alive, ,\tX-A ", "UPGRADE"]);
    expect(valuesOfField(raw, "x")).toEqual([""]);
    expect(valuesOfField(raw, "connectio")).toEqual([]);
    expect(valuesOfField(["Value", "host"], "host")).toEqual([]);
  });

  it("have the members of a list over all its fields", () => {
    expect(tokensOf(raw, "connection")).toEqual(["keep-alive", "x-a", "upgrade"]);
    expect(tokensOf(raw, "upgrade")).toEqual([]);
  });

  it("know the fields of one connection (RFC 9110, section 7.6.1)", () => {
    const named = ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];
    expect(named.filter((name) => !hopByHop.has(name))).toEqual([]);
  });
});
