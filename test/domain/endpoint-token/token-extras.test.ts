import { expect, test } from "vitest";
import { tokenOfRequest } from "../../../src/domain/endpoint-token/token-extras.ts";

const [id, name, scope] = ["token-id", "token-name", "scope"].map(
  (text) => `management.service/${text}`,
);
const [tokenId, tokenName, tokenScope] = [id ?? "", name ?? "", scope ?? ""];

test.each<[string, Record<string, unknown>, object]>([
  ["no extras", {}, { kind: "none" }],
  ["an access key of the gateway", { "management.service/key-id": ["u"] }, { kind: "none" }],
  ["a token", { [tokenId]: ["u"], [tokenName]: ["n"] }, { kind: "token", jti: "u" }],
  ["a scope", { [tokenId]: ["u"], [tokenScope]: ["{}"] }, { kind: "token", jti: "u", scope: "{}" }],
  ["a name alone", { [tokenName]: ["n"] }, { kind: "invalid" }],
  ["a scope alone", { [tokenScope]: ["{}"] }, { kind: "invalid" }],
  ["two ids", { [tokenId]: ["u", "v"] }, { kind: "invalid" }],
  ["no value", { [tokenId]: [] }, { kind: "invalid" }],
  ["an empty id", { [tokenId]: [""] }, { kind: "invalid" }],
  ["a value that is no text", { [tokenId]: ["u", 1] }, { kind: "invalid" }],
  ["an id that is no list", { [tokenId]: "u" }, { kind: "invalid" }],
  ["two scopes", { [tokenId]: ["u"], [tokenScope]: ["{}", "{}"] }, { kind: "invalid" }],
  ["an empty scope", { [tokenId]: ["u"], [tokenScope]: [""] }, { kind: "invalid" }],
])("the token of a request with %s", (_what, extra, token) => {
  expect(tokenOfRequest(extra)).toMatchObject(token);
});
