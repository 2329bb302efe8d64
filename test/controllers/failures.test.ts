import { describe, expect, test } from "vitest";
import { accessFailureOf, recordingFailures, type Try } from "../../src/controllers/failures.ts";
import { TestClock } from "../support/test-clock.ts";
import { RecordingFailures } from "./recording-failures.ts";
import { refusal } from "../support/fake-client.ts";

function setup() {
  const clock = new TestClock();
  const failures = new RecordingFailures(clock);
  const reports: string[] = [];
  const attempt = (error: Error | undefined, rest: Partial<Try> = {}) =>
    recordingFailures(
      "ns/a",
      {
        apply: () =>
          error === undefined ? Promise.resolve({ kind: "done" }) : Promise.reject(error),
        report: async ({ reason, message }) => void reports.push(`${reason} ${message}`),
        ...rest,
      },
      failures,
    );
  return { clock, failures, reports, attempt };
}

describe("repeated attempts", () => {
  test.for([
    "ServerError",
    "Conflict",
    "TooManyRequests",
    "Forbidden",
    "Network",
    "NotFound",
  ] as const)(
    "that fail with %s are reported after 30 s, and each error is thrown",
    async (code) => {
      const { clock, failures, reports, attempt } = setup();
      await expect(attempt(refusal(code))).rejects.toMatchObject({ code });
      expect([reports, failures.lines]).toEqual([[], ["ns/a again in 30000 ms"]]);
      clock.advance(30_000);
      await expect(attempt(refusal(code))).rejects.toMatchObject({ code });
      expect(reports).toEqual([`${code} refused: ${code}`]);
    },
  );

  test("keep the reported message while messages vary", async () => {
    const { clock, reports, attempt } = setup();
    for (let count = 0; count < 5; count += 1) {
      await expect(
        attempt(refusal("ServerError", { message: `request ${count}` })),
      ).rejects.toMatchObject({ name: "KubeError" });
      clock.advance(30_000);
    }
    expect(new Set(reports)).toEqual(new Set(["ServerError request 1"]));
  });

  test("start again after a success, which removes the failure", async () => {
    const { clock, failures, reports, attempt } = setup();
    await expect(attempt(refusal("Conflict"))).rejects.toMatchObject({ name: "KubeError" });
    clock.advance(20_000);
    expect(await attempt(undefined)).toEqual({ kind: "done" });
    expect(failures.size).toBe(0);
    await expect(attempt(refusal("Conflict"))).rejects.toMatchObject({ name: "KubeError" });
    clock.advance(20_000);
    await expect(attempt(refusal("Conflict"))).rejects.toMatchObject({ name: "KubeError" });
    expect(reports).toEqual([]);
  });

  test("report when a reported failure ends", async () => {
    const { failures, attempt } = setup();
    await expect(
      attempt(refusal("Forbidden"), { failureOf: accessFailureOf }),
    ).rejects.toMatchObject({ name: "KubeError" });
    failures.lines.length = 0;
    await attempt(undefined);
    expect(failures.lines).toEqual(["ns/a: none"]);
  });

  test.for<[string, Error]>([
    ["without the Lease", refusal("Fenced")],
    ["for a bug", new TypeError("bug")],
  ])("%s do not count as failures of the object", async ([, error]) => {
    const { failures, attempt } = setup();
    await expect(attempt(error)).rejects.toBe(error);
    expect(failures.size).toBe(0);
  });

  test("throw the first error if their report fails, too", async () => {
    const { attempt } = setup();
    const failing = {
      failureOf: accessFailureOf,
      report: () => Promise.reject(refusal("Network")),
    };
    await expect(attempt(refusal("Invalid"), failing)).rejects.toMatchObject({ code: "Invalid" });
    await expect(
      attempt(refusal("Invalid"), {
        ...failing,
        report: () => Promise.reject(new TypeError("bug")),
      }),
    ).rejects.toThrow(new TypeError("bug"));
  });
});

describe("a failure of Roles and RoleBindings", () => {
  test.for<[string, ReturnType<typeof refusal>]>([
    ["too-large", refusal("ServerError", { explanation: "etcdserver: request is too large" })],
    [
      "too-large",
      refusal("ServerError", {
        explanation: "rpc error: trying to send message larger than max (3 vs. 2)",
      }),
    ],
    ["too-large", refusal("BadRequest", { status: 413, explanation: "Request entity too large" })],
    ["refused", refusal("Forbidden", { explanation: "exceeded quota" })],
    ["refused", refusal("Invalid")],
    ["failed", refusal("ServerError", { explanation: "failed calling webhook" })],
    ["failed", refusal("Conflict")],
    ["failed", refusal("Forbidden", { causes: ["NamespaceTerminating"] })],
  ])("is classified as %s: %s", ([kind, error]) => {
    expect(accessFailureOf(error).kind).toBe(kind);
  });
});
