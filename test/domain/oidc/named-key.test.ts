import { expect, test } from "vitest";
import { namedKey } from "../../../src/domain/oidc/named-key.ts";

const audiences = ["https://latchkey.example", "ci"];
const key = (name: string) => ({ kind: "key", name });

test.each<[aud: unknown, found: object]>([
  ["ci/deploy", key("deploy")],
  ["https://latchkey.example/deploy", key("deploy")],
  [["ci/deploy"], key("deploy")],
  [["ci", "ci/deploy"], key("deploy")],
  [["ci/deploy", "sts.amazonaws.com"], key("deploy")],
  [["ci/deploy", "https://latchkey.example/deploy"], key("deploy")],
  [["ci/deploy", "ci/other"], { kind: "several" }],
  [["ci/deploy", "https://latchkey.example/other"], { kind: "several" }],
  ["ci", { kind: "none" }],
  ["ci/", { kind: "none" }],
  ["ci/a/b", { kind: "none" }],
  ["ci/Deploy", { kind: "none" }],
  ["ci/../x", { kind: "none" }],
  [`ci/${"a".repeat(254)}`, { kind: "none" }],
  ["cix/deploy", { kind: "none" }],
  ["other/deploy", { kind: "none" }],
  ["CI/deploy", { kind: "none" }],
  [undefined, { kind: "none" }],
  [{ aud: "ci/deploy" }, { kind: "none" }],
  [[["ci/deploy"]], { kind: "none" }],
  [["ci/deploy", 1], { kind: "none" }],
  [[], { kind: "none" }],
])("the audience %j names %j", (aud, found) => {
  expect(namedKey(aud, audiences)).toEqual(found);
});
