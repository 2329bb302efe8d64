import { describe, expect, test, vi } from "vitest";
import { keyOf } from "../../src/api/object.ts";
import { resources } from "../../src/api/resources.ts";
import {
  type ReconcileAttempt,
  beginAttempt,
  type Outcome,
  reconcile,
  settle,
} from "../../src/controllers/reconcile.ts";
import type { ReconcileDecision, Request } from "../../src/controllers/question.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { temporaryFailure } from "../../src/domain/plan/failed-request.ts";
import { nothingToDo, type Plan, type Write } from "../../src/domain/plan/plan.ts";
import type { KubeError, KubeErrorCode } from "../../src/kube/client/kube-error.ts";
import { refusal } from "../support/fake-client.ts";
import { settled } from "../support/test-clock.ts";
import { fakeWorld } from "../support/world.ts";
import { create, patch, probe, recordEvent, remove, replace, status } from "./writes.ts";

const read = (name: string) =>
  ({ do: "read", resource: resources.sharedSecrets, ref: { namespace: "ns", name } }) as const;
const planOf = (...steps: Plan["steps"]): Plan => ({ ...nothingToDo, steps });

function lineOf(request: Request): string {
  switch (request.do) {
    case "create":
    case "dry-run-create":
    case "replace":
      return `${request.do} ${keyOf(request.object.metadata)}`;
    case "patch":
    case "delete":
    case "read":
    case "refresh":
      return `${request.do} ${keyOf(request.ref)}`;
    case "record-event":
    case "read-data":
    case "read-source":
    case "review":
    case "count-targets":
    case "sign":
      return request.do;
  }
}

/** Plays an attempt whose requests have these outcomes; `rounds` is what was sent at once. */
async function attempted(
  decided: ReconcileDecision | Reconciler["decide"],
  outcomeOf: (request: Request) => Outcome = answered,
  { has, ...rest }: Partial<Reconciler> & { readonly has?: () => boolean } = {},
) {
  const found = await fakeWorld({});
  const world = { ...found.world, ...(has === undefined ? {} : { has }) };
  const decide = typeof decided === "function" ? decided : () => decided;
  const ended = vi.fn<() => void>();
  const reconciler: Reconciler = {
    queue: "key",
    workers: () => 1,
    decide,
    ended,
    ...rest,
  };
  const play = (): { readonly attempt: ReconcileAttempt; readonly rounds: readonly string[][] } => {
    const context = { reconciler, world };
    const attempt = beginAttempt("k", context);
    const rounds: string[][] = [];
    while (attempt.end === undefined) {
      const open = attempt.slots.filter(({ isDone }) => !isDone);
      rounds.push(open.map(({ request }) => lineOf(request)));
      for (const slot of open) settle(attempt, slot, outcomeOf(slot.request), context);
    }
    return { attempt, rounds };
  };
  return { ...found, ended, play, ...play() };
}

function answered(request: Request): Outcome {
  if (request.do === "read") return { answer: { do: "read", object: { kind: "gone" } } };
  if (request.do === "refresh") return { answer: { do: "refresh", sources: [] } };
  return { response: request.do === "delete" ? { kind: "Status" } : { answer: lineOf(request) } };
}

/** Requests fail with this error, and objects are read again. */
const failing =
  (error: unknown, ...kinds: readonly Request["do"][]) =>
  (request: Request): Outcome =>
    request.do === "refresh" || (kinds.length > 0 && !kinds.includes(request.do))
      ? answered(request)
      : { error };

describe("a plan", () => {
  test("is sent step by step, and its result is that of the attempt", async () => {
    const result = { kind: "requeue-at", at: 5 } as const;
    const steps = [[create("a"), replace("b")], [], [patch("c"), remove("d")], [recordEvent]];
    const { rounds, attempt, ended } = await attempted({ steps, result });
    expect(rounds).toEqual([
      ["create ns/a", "replace ns/b"],
      ["patch ns/c", "delete ns/d"],
      ["record-event"],
    ]);
    expect(attempt.end).toEqual({ result });
    expect(ended).toHaveBeenCalledOnce();
  });

  test("puts the responses into the stores for the next decision", async () => {
    const { recorded } = await attempted(
      planOf([create("a"), probe("x"), replace("b"), patch("c"), remove("d"), recordEvent]),
    );
    expect(recorded).toEqual([
      { answer: "create ns/a" },
      { answer: "replace ns/b" },
      { answer: "patch ns/c" },
      "no secrets ns/d u",
    ]);
  });

  test("puts an object that its finalizers keep after a delete into the stores", async () => {
    const kept = { metadata: { deletionTimestamp: "now" } };
    const { recorded } = await attempted(planOf([remove("d")]), () => ({ response: kept }));
    expect(recorded).toEqual([kept]);
    const silent = await attempted(planOf([remove("d")]), () => ({ response: undefined }));
    expect(silent.recorded).toEqual([]);
  });

  test("ends with the first failed step, once its other writes have ended", async () => {
    const steps = planOf([create("a"), create("b"), replace("c")], [create("d")]);
    const first = refusal("Forbidden");
    const { rounds, recorded, attempt, ended } = await attempted(steps, (request) =>
      request.do === "replace"
        ? { error: refusal("Invalid") }
        : lineOf(request).endsWith("a")
          ? { error: first }
          : answered(request),
    );
    expect([rounds.length, recorded]).toEqual([1, [{ answer: "create ns/b" }]]);
    expect(attempt.end).toEqual({ error: first });
    expect(ended).not.toHaveBeenCalled();
  });

  test("uses the resourceVersions of earlier steps in later steps", async () => {
    const steps = planOf([replace("a")], [patch("a"), replace("b")], [replace("a")], [remove("a")]);
    const versions: unknown[] = [];
    await attempted(steps, (request) => {
      versions.push(JSON.stringify(request).match(/"resourceVersion":"(\d)"/)?.[1]);
      return { response: { metadata: { resourceVersion: "5" } } };
    });
    expect(versions).toEqual(["1", "5", "1", "5", "5"]);
  });

  test.for([
    ["replace", replace("a")],
    ["patch", patch("a")],
  ] as const)("is decided again if a %s changes nothing: no event follows", async ([, write]) => {
    const version = (resourceVersion: string) => () => ({
      response: { metadata: { resourceVersion } },
    });
    const undone = await attempted(planOf([write]), version("1"));
    expect(undone.attempt.end).toEqual({ result: { kind: "requeue-with-backoff" } });
    const stored = await attempted(planOf([write]), version("2"));
    expect(stored.attempt.end).toEqual({ result: { kind: "done" } });
  });

  test("is logged once its writes have succeeded", async () => {
    const log = { level: "warn", fields: { count: 1 }, message: "said" } as const;
    const plan = { ...planOf([create("a")]), log };
    expect((await attempted(plan)).log.lines).toEqual([log]);
    expect((await attempted(plan, failing(refusal("Invalid")))).log.lines).toEqual([]);
  });
});

describe("reads the object again", () => {
  test.for<[string, Write, KubeErrorCode, boolean]>([
    ["a conflict of a replace", replace("a"), "Conflict", true],
    ["a conflict of a patch", patch("a"), "Conflict", true],
    ["a conflict of a delete", remove("a"), "Conflict", true],
    ["a name that already exists", create("a"), "AlreadyExists", true],
    ["a create in a deleted namespace", create("a"), "NotFound", true],
    ["a replace of a missing object", replace("a"), "NotFound", true],
    ["a patch of a missing object, which needs none,", patch("a"), "NotFound", false],
    ["a status of a missing object, which needs none,", status("a"), "NotFound", false],
    ["a delete of a missing object, which needs none,", remove("a"), "NotFound", false],
    ["a delete without a response", remove("a"), "Network", true],
    ["a status write without a response", status("a"), "Network", true],
  ])("after %s", async ([, write, code, fails]) => {
    const error = refusal(code);
    const { rounds, attempt } = await attempted(planOf([write]), failing(error));
    expect(rounds).toEqual([[lineOf(write)], ["refresh ns/a"]]);
    expect(attempt.answers.size).toBe(0);
    expect(attempt.end).toEqual(fails ? { error } : { result: { kind: "done" } });
  });

  test.for<[KubeErrorCode, Write]>([
    ["Forbidden", replace("a")],
    ["Invalid", replace("a")],
    ["ServerError", replace("a")],
    ["TooManyRequests", replace("a")],
    ["Fenced", replace("a")],
    ["Unauthorized", replace("a")],
    ["Conflict", probe("a")],
    ["NotFound", recordEvent],
  ])("but not after %s, which says nothing about the object: %s", async ([code, write]) => {
    const error = refusal(code);
    const { rounds, attempt } = await attempted(planOf([write]), failing(error));
    expect([rounds.length, attempt.end]).toEqual([1, { error }]);
  });

  test.for<[string, Write, KubeErrorCode]>([
    ["a conflict", replace("a"), "Conflict"],
    ["a missing object", remove("a"), "NotFound"],
  ])("and ends with the first error if that fails after %s, too", async ([, write, code]) => {
    const { attempt } = await attempted(planOf([write]), ({ do: kind }) => ({
      error: refusal(kind === "refresh" ? "Network" : code),
    }));
    expect(attempt.end).toMatchObject({ error: { code } });
  });

  test("and fails if a missing object is back, because etcd was restored meanwhile", async () => {
    const error = refusal("NotFound");
    const { attempt } = await attempted(planOf([patch("a")]), failing(error), { has: () => true });
    expect(attempt.end).toEqual({ error });
  });
});

describe("questions", () => {
  test("are asked at once, and their answers lead to the next decision", async () => {
    const asks = new Map([
      [0, { questions: [read("a"), read("b")] }],
      [2, { questions: [read("c")] }],
    ]);
    const decide: Reconciler["decide"] = (_, __, { size }) =>
      asks.get(size) ?? planOf([remove("d")]);
    const { rounds, attempt } = await attempted(decide);
    expect(rounds).toEqual([["read ns/a", "read ns/b"], ["read ns/c"], ["delete ns/d"]]);
    expect([attempt.answers.size, attempt.end]).toEqual([3, { result: { kind: "done" } }]);
  });

  test("that fail end the attempt, once the others have ended", async () => {
    const error = refusal("ServerError");
    const judge = vi.fn<typeof temporaryFailure>(temporaryFailure);
    const { rounds, attempt } = await attempted(
      { questions: [read("a"), read("b")] },
      failing(error),
      { judge },
    );
    expect([rounds, attempt.end]).toEqual([[["read ns/a", "read ns/b"]], { error }]);
    expect(judge.mock.calls[0]?.[0]).toMatchObject({ code: "ServerError", isWrite: false });
  });

  test("are asked twenty times at most: the key is then requeued", async () => {
    const { rounds, attempt, clock } = await attempted({ questions: [read("a")] });
    expect(rounds).toHaveLength(20);
    expect(attempt.end).toEqual({ result: { kind: "requeue-at", at: clock.now() + 1_000 } });
  });
});

test("a decision for later requeues the key, and ends no failure", async () => {
  const { attempt, ended, world, play } = await attempted({ decideAt: 7 });
  expect(attempt.end).toEqual({ result: { kind: "requeue-at", at: 7 } });
  expect(ended).toHaveBeenCalledOnce();
  world.memory.failures.key.set("k", { since: 0, sinceTime: 0 });
  play();
  expect(world.memory.failures.key.size).toBe(1);
});

describe("a failed attempt", () => {
  const writing = planOf([create("a")]);
  const refused = {
    judge: () => ({ failure: { kind: "refused", reason: "R", message: "m" } }) as const,
    report: () => planOf([status("k")]),
  };

  test.for<[string, Error]>([
    ["without the Lease", refusal("Fenced")],
    ["for a bug", new TypeError("bug")],
  ])("%s does not count as a failure of the object", async ([, error]) => {
    const { rounds, attempt, world } = await attempted(writing, failing(error), refused);
    expect([rounds.length, attempt.end]).toEqual([1, { error }]);
    expect(world.memory.failures.key.size).toBe(0);
  });

  const gone = { objectName: "ns" };
  test.for<[string, KubeError, object]>([
    ["a rejection", refusal("Invalid"), { reason: "Invalid", isRefusal: true, isRejection: true }],
    [
      "a missing permission",
      refusal("Forbidden", { lacksPermission: true }),
      { isRefusal: true, isRejection: false },
    ],
    [
      "an object that is too large",
      refusal("ServerError", { explanation: "request is too large" }),
      { isTooLarge: true, message: "request is too large" },
    ],
    [
      "a write into a terminating namespace",
      refusal("Forbidden", { causes: ["NamespaceTerminating"] }),
      { isNamespaceGone: true, isRefusal: false },
    ],
    [
      "a create in a deleted namespace",
      refusal("NotFound", { ...gone, message: "POST /api/v1/namespaces/ns/secrets: 404" }),
      { isNamespaceGone: true },
    ],
    [
      "a replace of a missing object",
      refusal("NotFound", { ...gone, message: "PUT /api/v1/namespaces/ns/secrets/a: 404" }),
      { isNamespaceGone: false },
    ],
    [
      "another error",
      refusal("ServerError", { reason: "Why" }),
      { code: "ServerError", reason: "Why", isRefusal: false, isTooLarge: false },
    ],
  ])("is judged by what is known of its request: %s", async ([, error, expected]) => {
    const judge = vi.fn<typeof temporaryFailure>(temporaryFailure);
    await attempted(writing, failing(error), { judge });
    expect(judge.mock.calls[0]?.[0]).toMatchObject({ isWrite: true, ...expected });
  });

  test("is recorded, and reported when that is due", async () => {
    const error = refusal("ServerError");
    const report = vi.fn<() => Plan>(refused.report);
    const { rounds, attempt, clock, play } = await attempted(writing, failing(error, "create"), {
      report,
    });
    expect([rounds.length, attempt.end]).toEqual([1, { error }]);
    clock.advance(30_000);
    expect(play()).toMatchObject({
      rounds: [["create ns/a"], ["patch ns/k"]],
      attempt: { end: { error } },
    });
    expect(report.mock.calls).toMatchObject([[{ key: "k", reported: { reason: "ServerError" } }]]);
  });

  test("is not recorded after the next success", async () => {
    let outcome = failing(refusal("Invalid"));
    const { world, play } = await attempted(writing, (request) => outcome(request));
    expect(world.memory.failures.key.size).toBe(1);
    outcome = answered;
    play();
    expect(world.memory.failures.key.size).toBe(0);
  });

  test("may have a result, and end an earlier failure", async () => {
    const result = { kind: "requeue-with-backoff" } as const;
    let verdict: object = refused.judge();
    const { world, play, ended } = await attempted(writing, failing(refusal("Invalid")), {
      judge: () => verdict,
    });
    expect(world.memory.failures.key.size).toBe(1);
    verdict = { isOver: true, result };
    expect(play().attempt.end).toEqual({ result });
    expect([world.memory.failures.key.size, ended.mock.calls.length]).toEqual([0, 1]);
  });

  const bug = new TypeError("bug");
  test.for<[string, Error, object]>([
    ["with the first error if its report fails, too", refusal("Network"), { code: "Invalid" }],
    ["with the error of its report if that is a bug", bug, bug],
  ])("ends %s", async ([, reportError, error]) => {
    const { attempt } = await attempted(
      writing,
      (request) =>
        request.do === "refresh"
          ? answered(request)
          : { error: request.do === "create" ? refusal("Invalid") : reportError },
      refused,
    );
    expect(attempt.end).toMatchObject({ error });
  });
});

const { world } = await fakeWorld({});

function reconciled(send: (request: Request) => Promise<Outcome>) {
  const steps = [[create("a"), create("b")], [create("c")]];
  const decide = () => ({ ...nothingToDo, steps });
  const reconciler = { queue: "key", workers: () => 1, decide } as const;
  return reconcile("k", { reconciler, world }, send);
}

describe("a reconcile", () => {
  test("sends the requests of a step at once, and the next step when all of them have ended", async () => {
    const open: ((outcome: Outcome) => void)[] = [];
    const ended = reconciled(() => new Promise((resolve) => void open.push(resolve)));
    for (const [ending, sent] of [
      [1, 2],
      [0, 3],
      [2, 3],
    ] as const) {
      await settled();
      open[ending]?.({ response: {} });
      await settled();
      expect(open).toHaveLength(sent);
    }
    expect(await ended).toEqual({ kind: "done" });
  });

  test("throws the error that the attempt ends with", async () => {
    const error = refusal("Forbidden");
    await expect(reconciled(async () => ({ error }))).rejects.toBe(error);
  });

  test("throws a bug once the other requests have ended", async () => {
    const bug = new TypeError("bug");
    let hasEnded = false;
    const sent = reconciled(async ({ do: kind, ...rest }) => {
      if ("object" in rest && rest.object.metadata.name === "a") throw bug;
      await settled();
      hasEnded = kind === "create";
      return { response: {} };
    });
    await expect(sent).rejects.toBe(bug);
    expect(hasEnded).toBe(true);
  });
});
