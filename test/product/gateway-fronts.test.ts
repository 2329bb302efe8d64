import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { becomes } from "../support/becomes.ts";
import { managementPath } from "../support/gateway-address.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { writeKubeconfig } from "../support/kubeconfig.ts";
import { type Nginx, nginxPrograms, startNginx } from "../support/nginx.ts";
import { bind, unique } from "../support/policy-request.ts";
import { orMissing, present } from "../support/prepared.ts";
import { runCli } from "../support/run-cli.ts";
import { skippedWithout } from "../support/skipped.ts";

const programs = await orMissing(nginxPrograms());

describe.skipIf(inject("gateway") === undefined)("what stands before the gateway", () => {
  const readers = unique("readers");
  let key: KnownKey;

  /** A kubeconfig for an address, with the key. */
  const kubeconfigOf = (url: string, ca: string): string => {
    const path = join(inject("controlPlane").directory, `${unique("front")}.kubeconfig`);
    writeKubeconfig(path, { url, certificateAuthority: ca }, { key: { token: key.key } });
    return path;
  };
  const kubectlWith = (kubeconfig: string, ...args: readonly string[]) => {
    const { kubectl, directory } = inject("controlPlane");
    const access = { kubectl, directory, kubeconfigs: { key: kubeconfig } };
    return tryKubectl(access, args, { user: "key" });
  };

  beforeAll(async () => {
    await bind({ kind: "Group", name: readers }, "cluster-admin");
    key = await makeKey({ spec: { user: "alice", groups: [readers] } });
    await becomes("the key to work", () => kubectlThrough(key.key, ["get", "namespaces"]), {
      code: 0,
    });
  });

  describe("nginx", skippedWithout(programs), () => {
    let nginx: Nginx;
    beforeAll(async () => {
      nginx = await startNginx(present(programs), inject("gateway")?.urls[0] ?? "");
    });
    afterAll(() => nginx?.stop());

    const words = /HTTP\/1\.1 or HTTP\/2 is required.*nginx with proxy_http_version 1\.1/;

    it("as it comes is refused with what to set, which kubectl prints", async () => {
      const kubeconfig = kubeconfigOf(nginx.url + managementPath, nginx.ca);
      const { code, stderr } = await kubectlWith(kubeconfig, "get", "namespaces");
      expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
      const raw = await kubectlWith(kubeconfig, "get", "--raw", "/api/v1/namespaces");
      expect([raw.code, raw.stderr]).toEqual([1, expect.stringMatching(words)]);
    });

    it("as it comes is refused with what to set, which kubectl latchkey prints", async () => {
      const kubeconfig = kubeconfigOf(nginx.url + managementPath, nginx.ca);
      const { code, stderr } = await runCli(["keys", "list"], { kubeconfig });
      expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
    });

    it("works with what the sentence says", async () => {
      const kubeconfig = kubeconfigOf(nginx.newerUrl + managementPath, nginx.ca);
      expect(await kubectlWith(kubeconfig, "get", "namespace", "default")).toMatchObject({
        code: 0,
        stderr: "",
      });
    });
  });

  it("an address without the path of the gateway is named by kubectl, with what to set", async () => {
    const { urls = [], ca = "" } = inject("gateway") ?? {};
    const kubeconfig = kubeconfigOf(urls[0] ?? "", ca);
    const { code, stderr } = await kubectlWith(kubeconfig, "get", "namespaces");
    expect([code, stderr]).toEqual([1, expect.stringContaining("is served at the path /api")]);
    expect(stderr).toContain("must end with /kubernetes/management or");
    const own = await runCli(["keys", "list"], { kubeconfig });
    expect([own.code, own.stderr]).toEqual([4, expect.stringContaining("/kubernetes/management")]);
  });

  it("a key of one namespace may not list namespaces, and the sentence says what to set", async () => {
    const rules = [{ verbs: ["get", "list"], namespaces: ["default"] }];
    const narrow = await makeKey({ spec: { user: "alice", groups: [readers], scope: { rules } } });
    const list = (what: string) => kubectlThrough(narrow.key, ["get", what]);
    await becomes("the key to work", () => list("configmaps"), { code: 0 });
    const { code, stderr } = await list("namespaces");
    expect([code, stderr]).toEqual([1, expect.stringContaining("set the namespace in the tool")]);
  });
});
