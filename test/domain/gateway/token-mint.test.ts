import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import { group } from "../../../src/api/names.ts";
import { isMintOver, mintsToken, nameOfObject } from "../../../src/domain/gateway/token-mint.ts";

const request = (changes: object = {}): ReviewedRequest => ({
  kind: "resource",
  verb: "create",
  group,
  resource: "directclusterendpointtokens",
  subresource: "",
  namespace: "",
  name: "",
  ...changes,
});

describe("a request", () => {
  it.each([
    [{}, "", true],
    [{}, "?a=b", true],
    [{}, "?dryRun=All", false],
    [{}, "?dryRun=", false],
    [{}, "?dry%52un=All", false],
    [{ verb: "update" }, "", false],
    [{ resource: "ownedaccesskeys" }, "", false],
  ])("%j%s mints a token: %s", (changes, query, is) => {
    expect(mintsToken(request(changes), query)).toBe(is);
  });
});

describe("the creation of a token", () => {
  it.each([
    [{ status: { token: "t" } }, true],
    [{ status: { token: "" } }, false],
    [{ status: {} }, false],
    [{}, false],
    [undefined, false],
    [{ status: { conditions: [{ type: "Stalled", status: "True" }] } }, true],
    [{ status: { conditions: [{ type: "Stalled", status: "False" }] } }, false],
    [{ status: { conditions: [{ type: "Ready", status: "True" }] } }, false],
  ])("with %j is over: %s", (object, is) => {
    expect(isMintOver(object)).toBe(is);
  });

  it.each([
    [{ metadata: { name: "a" } }, "a"],
    [{ metadata: {} }, undefined],
    [undefined, undefined],
    ["a", undefined],
  ])("of %j has the name %s", (object, name) => {
    expect(nameOfObject(object)).toBe(name);
  });
});
