import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringAt } from "../../src/api/parse.ts";
import { policyDigest } from "../../src/domain/policies/policy-digest.ts";
import { shippedPolicies } from "../../src/domain/policies/shipped-policies.ts";
import { guardingManifests } from "../support/connected-policies.ts";

const repository = join(import.meta.dirname, "..", "..");

/** The version of this checkout. */
export const version =
  stringAt(JSON.parse(readFileSync(join(repository, "package.json"), "utf8")), "version") ?? "";

/** The releases of the changelog, this version among them. */
export const releases = [
  ...readFileSync(join(repository, "CHANGELOG.md"), "utf8").matchAll(/^## (\d\S*)/gm),
].map(([, name = ""]) => name);

/** The digests of each policy by version: those of former versions stay, unless they are too weak. */
export function policyDigests(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const former = new Map<string, Readonly<Record<string, string>>>(Object.entries(shippedPolicies));
  const sorted = guardingManifests().toSorted(({ name: one }, { name: other }) =>
    one < other ? -1 : 1,
  );
  return Object.fromEntries(
    sorted.map(({ name, policy }) => [
      name,
      { ...former.get(name), [version]: policyDigest(policy, { isCentral: true }) },
    ]),
  );
}

/** `npm run policy-digests` writes the table. */
if (process.argv[1] === import.meta.filename)
  writeFileSync(
    join(repository, "src/domain/policies/shipped-policies.ts"),
    `/**
 * The digests of Latchkey's policies in each version that ships one that is strict enough. Written
 * by npm run policy-digests; clusters may still have those of a former version after an upgrade.
 */
export const shippedPolicies = ${JSON.stringify(policyDigests(), undefined, 2)} as const;
`,
  );
