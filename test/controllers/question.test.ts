import { expect, test } from "vitest";
import { group } from "../../src/api/names.ts";
import { resources } from "../../src/api/resources.ts";
import {
  type Answer,
  answerTo,
  askFor,
  type Question,
  questionKey,
} from "../../src/controllers/question.ts";
import { granteeOfRoleBinding } from "../../src/domain/grants/former-grantee.ts";
import { observedSource } from "../support/observed-copies.ts";

const ref = { namespace: "team", name: "db" };
const read = { do: "read", resource: resources.secrets, ref } as const;
const refresh = { ...read, do: "refresh" } as const;

const source = (resourceVersion: string) =>
  observedSource({ metadata: { uid: "u", resourceVersion } });
const claims = {
  iss: "i",
  sub: "ann",
  aud: "a",
  iat: 0,
  nbf: 0,
  exp: 9,
  jti: "j",
  groups: [],
  [group]: { name: "t" },
};
const grantee = (name: string) =>
  granteeOfRoleBinding({ ...ref, name }, { subject: { kind: "User", name: "ann" }, verb: "get" });
const review = (binding: string) =>
  ({ ...read, do: "review", ref: { ...ref, uid: "u" }, grantee: grantee(binding) }) as const;

test.for<[string, Question, Question, boolean]>([
  [
    "the read of an object, and of one of another kind",
    read,
    { ...read, resource: resources.roles },
    false,
  ],
  [
    "the read of an object, and of another one",
    read,
    { ...read, ref: { ...ref, name: "x" } },
    false,
  ],
  ["the read and the refresh of an object", read, refresh, false],
  [
    "refreshes of an object for other SharedSecrets",
    refresh,
    { ...refresh, sources: ["a/b"] },
    true,
  ],
  [
    "data in two forms",
    { do: "read-data", source: source("1"), variant: "own" },
    { do: "read-data", source: source("1"), variant: "copied" },
    false,
  ],
  [
    "data of two versions with one digest",
    { do: "read-data", source: source("1"), variant: "own" },
    { do: "read-data", source: source("2"), variant: "own" },
    true,
  ],
  [
    "the targets of two versions",
    { do: "count-targets", source: source("1") },
    { do: "count-targets", source: source("2") },
    false,
  ],
  ["the reviews of two bindings", review("a"), review("b"), false],
  [
    "tokens that begin at other times",
    { do: "sign", claims },
    { do: "sign", claims: { ...claims, iat: 1, nbf: 1 } },
    true,
  ],
  [
    "tokens that end at other times",
    { do: "sign", claims },
    { do: "sign", claims: { ...claims, exp: 10 } },
    false,
  ],
])("questions about %s have one answer: %s", ([, one, other, isSame]) => {
  expect(questionKey(one) === questionKey(other)).toBe(isSame);
});

test("only questions without an answer are asked", () => {
  const answer: Answer = { do: "read", object: { kind: "gone" } };
  const answers = new Map([[questionKey(read), answer]]);
  expect(askFor([read, refresh], answers)).toEqual({ questions: [refresh] });
  expect(askFor([read], answers)).toBeUndefined();
  expect([answerTo(read, answers), answerTo(refresh, answers)]).toEqual([answer, undefined]);
});
