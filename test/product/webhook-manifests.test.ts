import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dump, loadAll } from "js-yaml";
import { describe, expect, inject, it } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { blocksOf } from "../support/doc-blocks.ts";
import { repository } from "../support/install.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { api } from "../support/policy-request.ts";

const controlPlane = inject("controlPlane");
const namespaceOf = (object: unknown) => stringAt(recordAt(object, "metadata"), "namespace");

/** The API groups of objects that are shown whole; the others are those of other programs. */
const shown = ["v1", "management.service/v1", "rbac.authorization.k8s.io/v1"];

/** The objects of a kustomization, of a file, or of the YAML blocks of a page. */
function objectsIn(path: string): readonly unknown[] {
  const file = join(repository, path);
  const text = path.endsWith("kustomization.yaml")
    ? execFileSync(controlPlane.kubectl, ["kustomize", join(file, "..")], { encoding: "utf8" })
    : readFileSync(file, "utf8");
  const blocks = path.endsWith(".md") ? blocksOf(text) : [{ language: "yaml", text }];
  return blocks
    .filter(({ language }) => language === "yaml")
    .flatMap((block) => loadAll(block.text))
    .filter((object) => shown.includes(stringAt(object, "apiVersion") ?? ""));
}

function filesAt(...patterns: readonly string[]): readonly string[] {
  const words = ["ls-files", ...patterns];
  return execFileSync("git", words, { cwd: repository, encoding: "utf8" }).trim().split("\n");
}

/** Applies objects without a trace, as the pages say, and returns what kubectl warns of. */
async function warningsOf(objects: readonly unknown[]): Promise<string> {
  if (objects.length === 0) return "";
  const args = ["apply", "--server-side", "--dry-run=server", "--filename=-"];
  const input = objects.map((object) => dump(object)).join("---\n");
  const { code, stderr } = await tryKubectl(controlPlane, args, { input });
  if (code !== 0) throw new Error(stderr);
  return stderr;
}

describe.skipIf(inject("webhook") === undefined)("the API server warns", () => {
  const files = filesAt("README.md", "docs/*.md", "config/tenants/*.yaml");
  const samples = filesAt("config/samples*/kustomization.yaml");
  // Applied with its issuers by webhook-token-issuers.test.ts.
  const applied = "docs/ci-without-secrets.md";
  const shownIn = files.filter((path) => path !== applied && objectsIn(path).length > 0);

  it.each([...samples, ...shownIn])("of nothing in %s", async (path) => {
    const objects = objectsIn(path);
    expect(objects).not.toEqual([]);
    const namespaced = objects.filter((object) => namespaceOf(object) !== undefined);
    expect(await warningsOf(objects.filter((object) => !namespaced.includes(object)))).toBe("");
    for (const name of new Set(namespaced.map(namespaceOf)))
      // Another file may have made it.
      await api.create("/api/v1/namespaces", { metadata: { name } }).catch(() => {});
    expect(await warningsOf(namespaced)).toBe("");
  });

  it("of a mistake", async () => {
    const annotations = { "management.service/sync-too": "web" };
    const [sample] = objectsIn("docs/shared-secret.md");
    const metadata = { ...recordAt(sample, "metadata"), annotations };
    const mistaken = { ...recordAt({ sample }, "sample"), metadata };
    expect(await warningsOf([mistaken])).toMatch(/^Warning: .*management\.service\/sync-too/);
  });
});
