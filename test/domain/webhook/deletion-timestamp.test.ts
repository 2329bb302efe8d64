import { expect, test } from "vitest";
import { laterDeletionProblem } from "../../../src/domain/webhook/deletion-timestamp.ts";

const stored = "2030-01-01T12:00:00Z";
const problem = (sent: unknown, old: unknown = stored) =>
  laterDeletionProblem(
    { metadata: { deletionTimestamp: sent } },
    { metadata: { deletionTimestamp: old } },
  );

test.each([
  "2030-01-01T12:00:01Z",
  "2030-01-01T12:00:00-01:00",
  "2030-01-01T12:00:01.5Z",
  "2030-01-01T12:00:01,5Z",
  "9999-12-31T23:59:59Z",
  "in a week",
])("a deletion is not postponed to %s, and the message names both values and the fix", (sent) => {
  expect(problem(sent)).toEqual({
    field: "metadata.deletionTimestamp",
    message:
      `must not be later than the stored "${stored}", but is "${sent}"; leave it out, or send ` +
      "the stored value: a deletion that has begun cannot be postponed",
  });
});

test.each([
  ["the same", stored],
  ["the same in another zone", "2030-01-01T13:00:00+01:00"],
  ["the same second", "2030-01-01T12:00:00.999Z"],
  ["earlier", "2029-12-31T00:00:00Z"],
  ["removed", undefined],
  ["null", null],
])("kube-apiserver decides about a deletionTimestamp that is %s", (_what, sent) => {
  expect(problem(sent)).toBeUndefined();
});

test.each([{}, { metadata: {} }, undefined])(
  "kube-apiserver decides about an object that is not in deletion: %j",
  (oldObject) => {
    const object = { metadata: { deletionTimestamp: "2031-01-01T00:00:00Z" } };
    expect(laterDeletionProblem(object, oldObject)).toBeUndefined();
  },
);

test("a text of any length is cut in the message", () => {
  const { message = "" } = problem(`2031-01-01T00:00:00.${"1".repeat(5_000)}Z`) ?? {};
  expect(message.length).toBeLessThan(300);
});
