import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadCredentials } from "../../src/kube/load-credentials.ts";
import { TestClock } from "../support/test-clock.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-load-"));
afterAll(() => rmSync(directory, { recursive: true }));

const kubeconfig = join(directory, "kubeconfig");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server: "https://a.example.com" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user: { token: "one" } }],
  }),
);
const pod = { host: "10.0.0.1", port: "443" };

test("a kubeconfig takes precedence over the pod", async () => {
  const { server } = await loadCredentials({ kubeconfig, pod }, new TestClock());
  expect(server).toBe("https://a.example.com");
});

test("credentials require a kubeconfig or a pod", async () => {
  await expect(
    loadCredentials({ kubeconfig: undefined, pod: undefined }, new TestClock()),
  ).rejects.toThrow(
    "no kubeconfig is set and this is not a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); set --kubeconfig",
  );
});

/** Packages that a process loads for credentials. */
function packagesLoadedFor(source: object): readonly string[] {
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        if (/^[@a-z]/.test(specifier) && !specifier.startsWith("node:")) packages.add(specifier);
        return next(specifier, context);
      },
    });
    const { loadCredentials } = await import("./src/kube/load-credentials.ts");
    const { systemClock } = await import("./src/runtime/clock.ts");
    await loadCredentials(${JSON.stringify(source)}, systemClock).catch(() => {});
    console.log(JSON.stringify([...packages]));`;
  const printed: unknown = JSON.parse(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
    }),
  );
  return Array.isArray(printed) ? printed.map(String) : [];
}

test("the client library is loaded only for a kubeconfig", () => {
  expect(packagesLoadedFor({ kubeconfig })).toContain("@kubernetes/client-node");
  expect(packagesLoadedFor({ pod })).toEqual([]);
});
