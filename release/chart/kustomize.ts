import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { loadAll } from "js-yaml";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { findOrBuildControlPlane } from "../../test/support/binaries.ts";
import type { Manifest } from "./template.ts";

const config = join(import.meta.dirname, "..", "..", "config");

/** Prints the objects of a folder of config/, such as `default`, with components of config/components. */
export type Kustomize = (folder: string, components?: readonly string[]) => readonly Manifest[];

/**
 * `kubectl kustomize` with the kubectl of the tests' control plane, which is built if necessary. It
 * prints each folder once; the objects are to be left as they are.
 */
export async function findKustomize(report: (line: string) => void): Promise<Kustomize> {
  const { kubectl } = await findOrBuildControlPlane(report);
  const printed = new Map<string, readonly Manifest[]>();
  return (folder, components = []) => {
    const key = [folder, ...components].join(" ");
    const manifests = printed.get(key) ?? print(kubectl, folder, components);
    printed.set(key, manifests);
    return manifests;
  };
}

function print(
  kubectl: string,
  folder: string,
  components: readonly string[],
): readonly Manifest[] {
  const overlay = mkdtempSync(join(realpathSync(tmpdir()), "latchkey-kustomize-"));
  try {
    const path = (name: string): string => relative(overlay, join(config, name));
    const kustomization = {
      resources: [path(folder)],
      components: components.map((name) => path(join("components", name))),
      sortOptions: { order: "fifo" },
    };
    writeFileSync(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization));
    const text = execFileSync(kubectl, ["kustomize", overlay], {
      encoding: "utf8",
      maxBuffer: 1e8,
    });
    return loadAll(text).filter(isRecord);
  } finally {
    rmSync(overlay, { recursive: true });
  }
}

/** Kind and name of an object, and its namespace if it is not that of Latchkey. */
export function nameOf(manifest: Manifest): string {
  const metadata = recordAt(manifest, "metadata");
  const namespace = stringAt(metadata, "namespace") ?? "latchkey-system";
  const name = `${stringAt(manifest, "kind")} ${stringAt(metadata, "name")}`;
  return namespace === "latchkey-system" ? name : `${name} in ${namespace}`;
}
