import { expect, test } from "vitest";
import { execCredential } from "../../../src/kube/credentials/exec-plugin.ts";

test("an exec plugin whose output has no end is stopped", async () => {
  const plugin = { command: "yes", args: [], env: [], apiVersion: "v1", directory: "/" };
  const deps = { env: process.env, isInteractive: false, cluster: {} };
  const answer = execCredential({ ...plugin, mayAsk: false, wantsClusterInfo: false }, deps);
  await expect(answer).rejects.toThrow('the exec plugin "yes" of the kubeconfig did not end');
});
