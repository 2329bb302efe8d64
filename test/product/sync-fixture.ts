import { expect } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { canary } from "./controller-oracle.ts";
import { becomes } from "../support/becomes.ts";
import { eventually } from "../support/eventually.ts";
import { api, makeNamespace, unique, type Answer } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  secretPath,
  type Place,
  view,
} from "../support/shared-secret-requests.ts";

/** A SharedSecret with one copy. */
export interface Synced {
  readonly source: Place;
  readonly project: string;
  readonly target: string;
  /** The path of the copy. */
  readonly copy: string;
}

/** Data of a test: base64 of a recognizable text. */
export function dataOf(...keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, base64(`${canary}${key}`)]));
}

/** Annotations that sync a SharedSecret to projects. */
export function to(
  projects: string,
  others: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { [annotations.syncToProjects]: projects, ...others };
}

/**
 * Creates a SharedSecret and a project namespace that accepts copies only from its namespace, both
 * with more annotations, and waits for the copy.
 */
export async function makeSynced(
  others: Readonly<Record<string, string>> = {},
  ofNamespace: Readonly<Record<string, string>> = {},
): Promise<Synced> {
  const project = unique("project");
  const namespace = await makeNamespace();
  const target = await makeTarget(project, namespace, ofNamespace);
  const source = await makeSharedSecret({
    namespace,
    annotations: to(project, others),
    spec: { data: dataOf("first", "second") },
  });
  const copy = secretPath(target, others[annotations.syncSecretName] ?? source.name);
  await becomesReady(source);
  expect(await api.find(copy)).toMatchObject(currentCopy(source, dataOf("first", "second")));
  return { source, project, target, copy };
}

/** Waits until an invalid source is stalled with a reason and a sentence, and its copy says why. */
export async function becomesStalled(
  { source, copy }: Pick<Synced, "source" | "copy">,
  reason: string,
  says: string,
): Promise<void> {
  const message = expect.stringContaining(says);
  const trouble = { status: "False", reason, message };
  await becomes("the trouble to be reported", () => view(source), {
    settled: true,
    conditions: { Ready: trouble, Synced: trouble, Stalled: { ...trouble, status: "True" } },
  });
  await becomes("the copy to say why", async () => (await api.find(copy)).metadata, {
    annotations: { [annotations.syncError]: message },
  });
}

/** A copy with this data of the source. */
export function currentCopy({ uid, namespace, name }: Place, data: object): object {
  const from = expect.stringMatching(new RegExp(`^${namespace}/${name} -> [^/]+/[^/]+$`));
  return {
    code: 200,
    data,
    metadata: { labels: { [labels.sourceUid]: uid }, annotations: { [annotations.copyOf]: from } },
  };
}

/** Waits until a copy has exactly this data, with Latchkey's labels and annotations. */
export async function becomesCurrent(
  { source, copy }: Pick<Synced, "source" | "copy">,
  data: Record<string, string> = dataOf("first", "second"),
): Promise<void> {
  const see = async () => {
    const seen = await api.find(copy);
    const found = recordAt(seen, "data");
    return { ...seen, data: found, keys: Object.keys(found).sort() };
  };
  await becomes("the copy to be current", see, {
    ...currentCopy(source, data),
    keys: Object.keys(data).sort(),
  });
}

/** Creates a Secret as the administrator. */
export function makeSecret(namespace: string, name: string, rest: object = {}): Promise<Answer> {
  const body = { metadata: { name }, data: { foreign: base64(`${canary}foreign`) }, ...rest };
  return api.create(`/api/v1/namespaces/${namespace}/secrets`, body);
}

/** Identifies a state of an object: if two states are equal, nothing was written between them. */
export async function stateOf(path: string): Promise<object> {
  const { metadata, data, type } = await api.find(path);
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: metadata.labels,
    annotations: metadata.annotations,
    data,
    type,
  };
}

/**
 * Waits until the controller has handled all earlier changes of copies: another copy is edited and
 * repaired twice, because the first repair may overtake a write that was already in progress.
 */
export async function afterAnotherReconcile({ source, project, target }: Synced): Promise<void> {
  const marker = await makeSharedSecret({
    namespace: source.namespace,
    annotations: to(project),
    spec: { data: dataOf("marker") },
  });
  const copy = secretPath(target, marker.name);
  await becomesCurrent({ source: marker, copy }, dataOf("marker"));
  for (const key of ["once", "twice"]) {
    await api.merge(copy, { data: dataOf(key) });
    await becomesCurrent({ source: marker, copy }, dataOf("marker"));
  }
}

/** Waits for an Event with this reason about a Secret. */
export async function eventsAt(path: string, reason: string): Promise<void> {
  const [, namespace = "", name = ""] = /namespaces\/([^/]+)\/secrets\/(.+)$/.exec(path) ?? [];
  await eventAbout({ namespace, name }, reason);
}

/** Waits for an Event with this reason about an object of this name, in its namespace. */
export async function eventAbout(
  { namespace, name }: Pick<Place, "namespace" | "name">,
  reason: string,
): Promise<void> {
  await eventually(
    async () => {
      const list = await api.get(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`);
      const about = listAt(list, "items").filter(
        (event) => stringAt(recordAt(event, "regarding"), "name") === name,
      );
      expect(about.map((event) => stringAt(event, "reason"))).toContain(reason);
      return true;
    },
    { what: `an Event ${reason}` },
  );
}
