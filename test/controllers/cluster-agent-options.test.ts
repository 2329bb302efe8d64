import { describe, expect, test } from "vitest";
import {
  checkClusterAgentConfig,
  clusterAgentOptions,
} from "../../src/controllers/cluster-agent-options.ts";
import { parseConfig } from "../../src/runtime/options.ts";
import { flagTexts } from "../runtime/flag-texts.ts";

const parsed = (...texts: readonly string[]) =>
  parseConfig(clusterAgentOptions, {
    flags: flagTexts(["--cluster-name=east", ...texts]),
    env: {},
  });

test.each([
  [],
  ["--cluster-name="],
  ["--cluster-name=East"],
  ["--cluster-name=web/dev"],
  [`--cluster-name=${"e".repeat(47)}`],
])("the name of the cluster is required, and makes the name of a namespace: %s", (...flags) => {
  const sources = { flags: flagTexts(flags), env: {} };
  expect(() => parseConfig(clusterAgentOptions, sources)).toThrow(
    "must be the name of this cluster in the central cluster, such as east",
  );
});

test("the credential for the central cluster is required", () => {
  expect(() => checkClusterAgentConfig(parsed())).toThrow("--central-kubeconfig");
  expect(() => checkClusterAgentConfig(parsed("--central-kubeconfig=/file"))).not.toThrow();
});

test("the times of the Lease are checked", () => {
  const config = parsed("--central-kubeconfig=/file", "--renew-deadline=20s");
  expect(() => checkClusterAgentConfig(config)).toThrow("must be shorter than --lease-duration");
});

describe("the time after which copies are deleted", () => {
  test("is never unless it is set, and at least an hour", () => {
    expect(parsed().deleteAfterDisconnect).toBeUndefined();
    expect(parsed("--delete-after-disconnect=1h").deleteAfterDisconnect).toBe(3_600_000);
    expect(() => parsed("--delete-after-disconnect=59m")).toThrow("from 3600s");
  });
});
