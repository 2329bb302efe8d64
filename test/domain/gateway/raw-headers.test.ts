import { describe, expect, it } from "vitest";
import {
  fieldsOf,
  hopByHop,
  tokensOf,
  valuesOfField,
} from "../../../src/domain/gateway/raw-headers.ts";

const raw = ["Host", "a", "CONNECTION", "Keep-Alive, ,\tX-A ", "connection", "UPGRADE", "x", ""];

describe("raw headers", () => {
  it("have fields with names in lower case, and values as they are", () => {
    expect(fieldsOf(raw)).toEqual([
      ["host", "a"],
      ["connection", "Keep-Alive, ,\tX-A "],
      ["connection", "UPGRADE"],
      ["x", ""],
    ]);
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
