import { describe, expect, test } from "vitest";
import {
  accessFailure,
  type FailedRequest,
  temporaryFailure,
  targetFailure,
} from "../../../src/domain/plan/failed-request.ts";

const failed: FailedRequest = {
  code: "Conflict",
  reason: "R",
  message: "why",
  requestMessage: "POST /path: why",
  isRefusal: false,
  isRejection: false,
  isTooLarge: false,
  isNamespaceGone: false,
  isWrite: true,
};
const rejection = { isRefusal: true, isRejection: true };
const [refused, unread] = (["refused", "failed"] as const).map((kind) => ({
  failure: { kind, reason: "R", message: "why" },
}));
const temporary = { failure: { kind: "failed", reason: "R", message: "POST /path: why" } };
const tooLarge = { failure: { kind: "too-large", reason: "TooLarge", message: "why" } };
const retried = { result: { kind: "requeue-with-backoff" } };

test("a failure is temporary if nothing else is known of the object", () => {
  expect(temporaryFailure({ ...failed, ...rejection })).toEqual(temporary);
});

describe("a failure to write Roles and RoleBindings", () => {
  test.for<[string, Partial<FailedRequest>, object]>([
    [
      "that a policy or quota causes is refused, and retried",
      rejection,
      { ...refused, ...retried },
    ],
    ["that a missing permission causes is an error, too", { isRefusal: true }, { ...refused }],
    [
      "of an object that is too large is retried",
      { isTooLarge: true },
      { ...tooLarge, ...retried },
    ],
    [
      "of one that is rejected as too large, too",
      { ...rejection, isTooLarge: true },
      { ...tooLarge, ...retried },
    ],
    ["that may end is temporary", {}, { ...temporary }],
  ])("%s", ([, changes, verdict]) => {
    expect(accessFailure({ ...failed, ...changes })).toEqual(verdict);
  });
});

describe("a failure at a target", () => {
  const over = { isOver: true, result: { kind: "done" } };
  test.for<[string, Partial<FailedRequest>, object]>([
    ["of a read is temporary", { ...rejection, isWrite: false }, { ...unread }],
    [
      "of an existing name is temporary: the Secret is read, and may be one that stays in deletion",
      { code: "AlreadyExists" },
      { ...unread, ...retried },
    ],
    ["in a namespace that is gone is over", { isNamespaceGone: true }, over],
    [
      "that a policy or quota causes is refused, and retried",
      rejection,
      { ...refused, ...retried },
    ],
    ["that a missing permission causes is an error, too", { isRefusal: true }, { ...refused }],
    ["that a webhook may cause is an error, too", { code: "ServerError" }, { ...refused }],
    ["that may end is temporary", {}, { ...unread }],
  ])("%s", ([, changes, verdict]) => {
    expect(targetFailure({ ...failed, ...changes })).toEqual(verdict);
  });
});
