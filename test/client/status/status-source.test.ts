import { describe, expect, test } from "vitest";
import type { Cluster } from "../../../src/client/connection/cluster.ts";
import { pauseAfter, StatusSource } from "../../../src/client/status/status-source.ts";
import type { KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeStatusCluster } from "./fake-status-cluster.ts";

const selection = { namespace: "team-a", endsWithin: 60 };

function sourceOver(connect: () => Promise<Cluster>) {
  return new StatusSource(selection, {
    connect,
    clock: new TestClock(),
    policies: async () => [],
  });
}

describe("a source of reports", () => {
  test("rejects if the first report cannot be read", async () => {
    const { cluster } = fakeStatusCluster("Network");
    await expect(sourceOver(async () => cluster).first()).rejects.toThrow("failed");
  });

  test.each<[KubeErrorCode, string]>([
    ["Network", "the API server does not answer: away"],
    ["ServerError", "away"],
    ["TooManyRequests", "away"],
  ])("keeps the last report while there is %s, and goes on afterwards", async (code, problem) => {
    const fake = fakeStatusCluster();
    const source = sourceOver(async () => fake.cluster);
    const { report } = await source.first();
    fake.failWith(code);
    expect(await source.next()).toMatchObject({ report, problem });
    fake.failWith(undefined);
    expect(await source.next()).toMatchObject({ report, problem: undefined });
  });

  test("connects again once its credential has expired", async () => {
    const fakes = [fakeStatusCluster(), fakeStatusCluster()];
    let connections = 0;
    const source = sourceOver(async () => fakes[connections++]!.cluster);
    await source.first();
    fakes[0]?.failWith("Unauthorized");
    expect((await source.next()).problem).toContain("does not accept the credentials");
    expect((await source.next()).problem).toBeUndefined();
    expect(connections).toBe(2);
  });

  test("does not hide an error of the program", async () => {
    const fake = fakeStatusCluster();
    const source = sourceOver(async () => fake.cluster);
    await source.first();
    fake.throwBug();
    await expect(source.next()).rejects.toThrow(TypeError);
  });
});

test("a slow cluster is read less often", () => {
  expect(pauseAfter(100, 5000)).toBe(5000);
  expect(pauseAfter(3000, 5000)).toBe(12_000);
});
