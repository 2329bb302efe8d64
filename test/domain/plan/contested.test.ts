import { describe, expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { managersOf } from "../../../src/api/managed-fields.ts";
import { contestedCause, contestedRequest } from "../../../src/domain/plan/contested.ts";

const entry = (manager: string, time: string, fieldsV1: object) => ({ manager, time, fieldsV1 });
const causeOf = (...managedFields: readonly unknown[]) =>
  contestedCause({ kind: "there", managers: managersOf({ metadata: { managedFields } }) });

describe("the cause", () => {
  test("is the manager with the latest change, by what it calls itself and which parts", () => {
    expect(
      causeOf(
        entry("kubectl-edit", "2026-01-01T00:00:01Z", { "f:type": {} }),
        entry("argocd", "2026-01-01T00:00:02Z", {
          "f:data": { "f:password-of-a-person": {} },
          "f:metadata": { "f:labels": { "f:team": {} } },
        }),
        entry("latchkey-controller", "2026-01-01T00:00:03Z", { "f:data": {} }),
      ),
    ).toBe('a manager that calls itself "argocd" changes its data, labels');
  });

  test("bounds and escapes a name, and names no part that somebody made up", () => {
    const cause = causeOf(entry(`a"\n${"x".repeat(128)}`, "2026", { "f:evil": {} }));
    expect(cause).toBe(
      `a manager that calls itself ${JSON.stringify(`a"\n${"x".repeat(61)}...`)} changes it`,
    );
  });

  test("is a policy, a webhook or another process where no other manager is known", () => {
    const cause = "a mutating policy, a webhook or another process of Latchkey changes it";
    expect(causeOf(entry("latchkey-controller", "2026", { "f:data": {} }))).toBe(cause);
    expect(contestedCause({ kind: "there", managers: managersOf({}) })).toBe(cause);
  });

  test("is a deletion where the object is gone", () => {
    expect(contestedCause({ kind: "gone" })).toBe("it is deleted again and again");
    expect(contestedCause({ kind: "unknown" })).toBe("it is changed or deleted again and again");
  });
});

test("the failure names the object", () => {
  const write = {
    do: "delete",
    resource: resources.roles,
    ref: { namespace: "team", name: "db" },
    uid: "u",
    resourceVersion: "1",
  } as const;
  expect(contestedRequest(write, "it is deleted again and again")).toMatchObject({
    reason: "Contested",
    message: "Role team/db does not stay as it is written: it is deleted again and again",
  });
});
