import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { patch, post, remove } from "../support/bare-client.ts";
import { repository } from "../support/install.ts";
import type { BenchFixture } from "./bench-fixture.ts";

/** The label of objects that only some policies and webhooks see. */
export const stageLabel = "bench-admission";

/** No policy and no webhook sees an object of this stage. */
export const bareStage = "bare";
/** All policies and no webhook see an object of this stage. */
export const policiesStage = "policies";

/**
 * Only the policies of another version see an object of this stage: those of the variable
 * BEFORE_POLICIES, a comma-separated list of directories like `config/policies`.
 */
export const beforeStage = "policies before";
/** Everything, with the policies of the other version, sees an object of this stage. */
export const allInBeforeStage = "all in before";

const beforeDirectories = (process.env.BEFORE_POLICIES ?? "").split(",").filter(Boolean);

/** Whether another version is measured, too. */
export const hasBefore = beforeDirectories.length > 0;
/** Files whose policies accept no object without those of another file. */
const needs: Readonly<Record<string, string>> = { "requester-lock": "requester-annotations" };

/** Only the policies of one file, and of the file that it needs, see an object of this stage. */
export function onlyStage(file: string): string {
  const needed = needs[file];
  return needed === undefined ? `only-${file}` : `only-${file}-and-${needed}`;
}

/** Whether the policies of a file see the objects of the stage of a file. */
function isSeen(file: string, stageOf: string): boolean {
  return file === stageOf || file === needs[stageOf];
}

/** A file of `config/policies`. */
export interface PolicyFile {
  /** Without extension. */
  readonly name: string;
  /** Path segments of its bindings. */
  readonly bindings: readonly string[];
  /** Kinds whose creation its policies see. */
  readonly sees: readonly string[];
}

const directories = ["policies", "connected-policies"].map((name) =>
  join(repository, "config", name),
);

/** Kinds whose creation is measured; "*" are all. */
const measured = [
  "ownedaccesskeys",
  "directclusterendpointtokens",
  "sharedsecrets",
  "secrets",
  "configmaps",
  "pods",
  "leases",
  "*",
];

/** The files with policies that see the creation of what is measured. */
export function policyFiles(): readonly PolicyFile[] {
  return directories
    .flatMap((directory) =>
      objectsIn(directory).map(([file, objects]) => ({
        name: file.replace(".yaml", ""),
        bindings: objects.flatMap(bindingIn),
        sees: objects.flatMap(createdIn),
      })),
    )
    .filter(({ sees }) => sees.some((plural) => measured.includes(plural)));
}

function objectsIn(
  directory: string,
): readonly (readonly [file: string, objects: readonly unknown[]])[] {
  return readdirSync(directory)
    .filter((file) => file !== "kustomization.yaml")
    .map((file) => [file, loadAll(readFileSync(join(directory, file), "utf8"))]);
}

function bindingIn(object: unknown): readonly string[] {
  const kind = stringAt(object, "kind") ?? "";
  if (!kind.endsWith("Binding")) return [];
  const plural = `${kind.toLowerCase()}s`;
  return [`${plural}/${stringAt(recordAt(object, "metadata"), "name") ?? ""}`];
}

function createdIn(object: unknown): readonly string[] {
  return listAt(recordAt(recordAt(object, "spec"), "matchConstraints"), "resourceRules").flatMap(
    (rule) =>
      stringsAt(rule, "operations").includes("CREATE") ? stringsAt(rule, "resources") : [],
  );
}

const group = "/apis/admissionregistration.k8s.io/v1";

/** Hides the objects of the stage without policies, and those of other files, from each file. */
export async function limitPolicies(
  { admin }: BenchFixture,
  files: readonly PolicyFile[],
): Promise<void> {
  for (const { name, bindings } of files) {
    const others = files.filter((file) => !isSeen(name, file.name));
    const hidden = [
      ...[bareStage, beforeStage, allInBeforeStage].map(valueOf),
      ...others.map((file) => onlyStage(file.name)),
    ];
    for (const binding of bindings)
      await admin.send(
        patch(`${group}/${binding}`, {
          spec: { matchResources: { objectSelector: outside(hidden) } },
        }),
      );
  }
}

/** Installs the policies of the other version under other names, which only its stages see. */
export async function installBefore({ admin }: BenchFixture): Promise<void> {
  for (const [, objects] of beforeDirectories.flatMap(objectsIn))
    for (const object of objects) {
      const [kind, named] = [stringAt(object, "kind") ?? "", recordAt(object, "metadata")];
      const spec = recordAt(object, "spec");
      const isBinding = kind.endsWith("Binding");
      const metadata = { name: beforeName(stringAt(named, "name")) };
      const values = [beforeStage, allInBeforeStage].map(valueOf);
      const bound = {
        policyName: beforeName(stringAt(spec, "policyName")),
        matchResources: {
          objectSelector: { matchExpressions: [{ key: stageLabel, operator: "In", values }] },
        },
      };
      const plural = isBinding ? `${kind.toLowerCase()}s` : kind.toLowerCase().replace(/y$/, "ies");
      await admin.send(
        post(`${group}/${plural}`, {
          ...recordAt({ object }, "object"),
          metadata,
          spec: { ...spec, ...(isBinding && bound) },
        }),
      );
    }
}

const beforeName = (name = ""): string => `before-${name}`;

/** The value of {@link stageLabel} of a stage. */
export function valueOf(stage: string): string {
  return stage.replaceAll(" ", "-");
}

/** Hides the objects of the stage without webhooks from the webhooks. */
export async function limitWebhooks({ admin }: BenchFixture): Promise<void> {
  const path = `${group}/mutatingwebhookconfigurations/latchkey`;
  const webhooks = listAt(await admin.get(path), "webhooks").map((webhook) => ({
    ...recordAt({ webhook }, "webhook"),
    objectSelector: outside([policiesStage, beforeStage].map(valueOf)),
  }));
  await admin.send(patch(path, { webhooks }));
}

/** Undoes {@link limitPolicies}, and removes the webhooks. */
export async function endStages(
  { admin }: BenchFixture,
  files: readonly PolicyFile[],
): Promise<void> {
  await admin.send(remove(`${group}/mutatingwebhookconfigurations/latchkey`));
  for (const { bindings } of files)
    for (const binding of bindings)
      await admin.send(patch(`${group}/${binding}`, { spec: { matchResources: null } }));
}

function outside(stages: readonly string[]): object {
  return { matchExpressions: [{ key: stageLabel, operator: "NotIn", values: stages }] };
}
