import { readdirSync, readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";

/** A policy and its binding, as the manifests have them. */
export interface PolicyManifests {
  readonly name: string;
  readonly policy: object;
  readonly binding: object;
}

/** All policies of the central cluster but those that only warn. */
export function guardingManifests(): readonly PolicyManifests[] {
  return (manifests ??= readManifests());
}

let manifests: readonly PolicyManifests[] | undefined;

function readManifests(): readonly PolicyManifests[] {
  const objects = ["policies", "connected-policies"].flatMap((directory) => {
    const folder = new URL(`../../config/${directory}/`, import.meta.url);
    return readdirSync(folder)
      .filter((file) => file !== "kustomization.yaml")
      .flatMap((file) => loadAll(readFileSync(new URL(file, folder), "utf8")));
  });
  const nameOf = (object: unknown): string => stringAt(recordAt(object, "metadata"), "name") ?? "";
  const bindings = objects.filter((object) => stringAt(object, "kind")?.endsWith("Binding"));
  return objects
    .filter((object) => !bindings.includes(object))
    .flatMap((policy) => {
      const name = nameOf(policy);
      const binding = bindings.find((one) => nameOf(one) === name);
      const warns = stringsAt(recordAt(binding, "spec"), "validationActions").includes("Warn");
      return warns ? [] : [{ name, policy: Object(policy), binding: Object(binding) }];
    });
}

/** All of them as an API server lists them, by the plural of their resource. */
export function shippedPolicyObjects(
  creationTimestamp: string,
): Readonly<Record<string, readonly object[]>> {
  const found = guardingManifests().flatMap(({ name }) => {
    const { policy, binding } = shippedPolicy(name, creationTimestamp);
    return [policy, binding];
  });
  const pluralOf = (object: object): string =>
    `${stringAt(object, "kind")?.toLowerCase()}`.replace(/(?:y|binding)$/, (end) =>
      end === "y" ? "ies" : "bindings",
    );
  return Object.fromEntries(Map.groupBy(found, pluralOf));
}

/** A shipped policy and its binding, as a cluster has them that got them at this time. */
export function shippedPolicy(
  name: string,
  creationTimestamp: string,
): { readonly policy: object; readonly binding: object } {
  const found = guardingManifests().find((one) => one.name === name);
  const stored = (object: object = {}): object => {
    const metadata = { ...recordAt(object, "metadata"), uid: "u", resourceVersion: "1" };
    return { ...object, metadata: { ...metadata, creationTimestamp } };
  };
  return { policy: stored(found?.policy), binding: stored(found?.binding) };
}
