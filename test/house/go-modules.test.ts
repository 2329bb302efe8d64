import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const support = new URL("../support/", import.meta.url);

/** Versions by module: what go.mod requires, or what it replaces that with. */
function versionsIn(module: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`${module}/go.mod`, support), "utf8");
  const required = text.matchAll(/^\t(?:require )?(\S+) (v\S+)/gm);
  const replaced = text.matchAll(/^\t\S+ => (\S+) (v\S+)/gm);
  return new Map([...required, ...replaced].map(([, name = "", version = ""]) => [name, version]));
}

const controlPlane = versionsIn("controlplane");

describe.each(["oracle", "kubelet", "node-programs", "exec-client", "kind-config"])(
  "the Go module %s",
  (module) => {
    test("has Kubernetes in the version of the control plane", () => {
      // kubeadm alone needs k8s.io/system-validators.
      const kubernetes = [...versionsIn(module)].filter(
        ([name]) => name.startsWith("k8s.io/") && controlPlane.has(name),
      );
      expect(kubernetes.length).toBeGreaterThan(2);
      expect(kubernetes.map(([name]) => [name, controlPlane.get(name)])).toEqual(kubernetes);
    });
  },
);
