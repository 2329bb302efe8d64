import { describe, expect, test } from "vitest";
import {
  afterAnswer,
  answerOfFailure,
  answerOfStatus,
  needsRestart,
  type ServerAnswer,
  type ServerRecord,
  serverProblem,
} from "../../../src/kube/credentials/server-answers.ts";

const accepted: ServerAnswer = { kind: "accepted" };
const refused: ServerAnswer = { kind: "refused", cause: "401" };
const silent: ServerAnswer = { kind: "silent", cause: "ECONNREFUSED" };

/** The record of answers, each at a second. */
function recordOf(answers: readonly (readonly [second: number, answer: ServerAnswer])[]) {
  return answers.reduce<ServerRecord>(
    (record, [second, answer]) => afterAnswer(record, answer, second * 1000),
    {},
  );
}

/** An answer in each of these seconds. */
const each = (answer: ServerAnswer, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => [from + index, answer] as const);

describe("a process needs a restart", () => {
  type Row = [string, ReturnType<typeof each>, Partial<{ problem: string; changedAt: number }>];
  const isNeeded = (answers: Row[1], files: Row[2], now: number): boolean =>
    needsRestart(recordOf(answers), { problem: undefined, changedAt: 0, ...files }, now * 1000);

  test.each<Row>([
    ["after two minutes of refusals", each(refused, 1, 121), {}],
    [
      "although every other answer is silence, as behind a balancer",
      each(refused, 1, 121).flatMap((answer) => [answer, [answer[0], silent] as const]),
      {},
    ],
    ["after an accepted request long ago", [[0, accepted], ...each(refused, 1, 121)], {}],
  ])("%s", (_, answers, files) => {
    expect(isNeeded(answers, files, 121)).toBe(true);
  });

  test.each<Row>([
    ["before two minutes are over", each(refused, 1, 120), {}],
    ["while the server is silent", each(silent, 1, 121), {}],
    ["after one accepted request", [...each(refused, 1, 121), [121, accepted]], {}],
    ["when refusals have a gap", [[0, refused], ...each(refused, 100, 121)], {}],
    ["for two minutes after the files have changed", each(refused, 1, 121), { changedAt: 5_000 }],
    ["while the files cannot be used", each(refused, 1, 121), { problem: "it is gone" }],
    ["when no request was sent", [], {}],
  ])("not %s", (_, answers, files) => {
    expect(isNeeded(answers, files, 121)).toBe(false);
  });

  test("not any more once the server is silent: at least 20 seconds after its last refusal", () => {
    const answers = [...each(refused, 1, 121), ...each(silent, 122, 142)];
    expect(isNeeded(answers, {}, 141)).toBe(true);
    expect(isNeeded(answers, {}, 142)).toBe(false);
  });
});

describe("what a server does is said", () => {
  const said = (answers: ReturnType<typeof each>, now: number) =>
    serverProblem(recordOf(answers), "https://a", now * 1000);

  test.each<[string, ReturnType<typeof each>, string, boolean]>([
    [
      "a refusal at once",
      each(refused, 10, 10),
      "https://a has served no request for 0 s: 401",
      false,
    ],
    [
      "and after 30 s as a problem",
      each(refused, 0, 30),
      "https://a has served no request for 30 s: 401",
      true,
    ],
    [
      "silence after 10 s",
      each(silent, 0, 10),
      "no answer from https://a for 10 s: ECONNREFUSED",
      false,
    ],
    [
      "silence after a refusal",
      [[0, refused], ...each(silent, 1, 30)],
      "no answer from https://a for 29 s: ECONNREFUSED",
      false,
    ],
  ])("%s", (_, answers, text, isUnready) => {
    expect(said(answers, answers.at(-1)?.[0] ?? 0)).toEqual({ text, isUnready });
  });

  test.each<[string, ReturnType<typeof each>, number]>([
    ["nothing yet", [], 100],
    ["one failed request", each(silent, 0, 9), 9],
    ["an accepted request", [...each(refused, 0, 60), [61, accepted]], 61],
  ])("but not %s", (_, answers, now) => {
    expect(said(answers, now)).toBeUndefined();
  });
});

test.each([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_HAS_EXPIRED",
  "CERT_SIGNATURE_FAILURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
])("%s is a refusal, with its code", (code) => {
  expect(answerOfFailure(code, code)).toEqual({
    kind: "refused",
    cause: `its certificate cannot be verified (${code})`,
  });
});

test.each<[string | undefined, string]>([
  ["ECONNREFUSED", "ECONNREFUSED"],
  ["ECONNRESET", "ECONNRESET"],
  ["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_WRONG_VERSION_NUMBER"],
  [undefined, "no response"],
])("%s is silence: %s", (code, cause) => {
  expect(answerOfFailure(code, cause)).toEqual({ kind: "silent", cause });
});

test.each([
  [200, "accepted"],
  [403, "accepted"],
  [404, "accepted"],
  [429, "accepted"],
  [500, "accepted"],
  [401, "refused"],
] as const)("status %i is %s", (status, kind) => {
  expect(answerOfStatus(status).kind).toBe(kind);
});
