import { afterAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { type Key, keyOf } from "../../src/api/object.ts";
import { isRecord, parseLatchkeyMetadata } from "../../src/api/parse.ts";
import { type ObjectChange, planChange } from "../../src/domain/sync/plan-change.ts";
import { type SyncSnapshot, syncObjectsOf } from "../../src/domain/sync/sync-objects.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { livePath, liveSnapshot, storedSecret, storedSource } from "./live-snapshot.ts";
import { eventually, nextSecond } from "../support/eventually.ts";
import { becomesGone } from "../support/becomes.ts";
import { api, as, admin, makeNamespace, unique } from "../support/policy-request.ts";
import { makeTarget } from "../support/shared-secret-requests.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { afterAnotherReconcile, dataOf } from "./sync-fixture.ts";
import { runs } from "../support/property-runs.ts";
import { outcomeSentence } from "../support/outcome-sentence.ts";

afterAll(expectNoTrouble);

const seed = Number(process.env.LATCHKEY_TEST_SEED ?? Date.now() % 1_000_000);
const random = seededRandom(seed);
const steps = runs(30).numRuns;
/** A run that has not made every action by then fails. */
const mostSteps = Math.max(300, 3 * steps);
/** The actions that a run makes, if need be with more steps; it may empty no placeholder. */
const wantedActions = ["create", "delete", "nothing", "release", "replace"];

function pick<T>(first: T, ...others: readonly T[]): T {
  const index = Math.floor(random() * (others.length + 1));
  return others[index - 1] ?? first;
}

function oneOf(names: readonly string[]): string {
  return names[Math.floor(random() * names.length)] ?? "";
}

/** The names of one run. */
interface World {
  /** Namespaces of SharedSecrets. */
  readonly homes: readonly string[];
  /** Namespaces of copies. */
  readonly targets: readonly string[];
  readonly project: string;
}

/** A request that changes one object, and the object as the API server is going to store it. */
interface Step {
  readonly kind: ObjectChange["kind"];
  readonly path: string;
  /** A merge patch, a new object, or undefined to delete. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly isNew: boolean;
}

function annotationsOf({ project, homes }: World): Readonly<Record<string, string | null>> {
  return pick<Readonly<Record<string, string | null>>>(
    {
      [annotations.syncToProjects]: pick(`${project}-web`, `${project}-*`, `${project}-pay`, null),
    },
    { [annotations.syncToProjects]: `${project}-web, ${project}-pay` },
    { [annotations.syncSecretName]: pick("db", "other", null, "No Name", homes[0] ?? null) },
    { [annotations.syncSecretType]: pick("example.com/one", null, "helm.sh/release.v1") },
    { [annotations.disableSync]: pick("true", null, null, "maybe") },
  );
}

function spec(): Readonly<Record<string, unknown>> {
  return { data: dataOf(...pick(["first"], ["second"], ["first", "third"])) };
}

async function sourceStep(world: World): Promise<Step> {
  const [namespace, name] = [oneOf(world.homes), pick("db", "other")];
  const path = livePath({ namespace, name }, "SharedSecret");
  const kind = "SharedSecret";
  const isNew = (await api.find(path)).code === 404;
  if (isNew) {
    const given = Object.entries({
      [annotations.syncToProjects]: `${world.project}-*`,
      ...annotationsOf(world),
    }).filter(([, value]) => value !== null);
    const metadata = { namespace, name, annotations: Object.fromEntries(given) };
    return { kind, path, body: { apiVersion, kind, metadata, spec: spec() }, isNew };
  }
  if (random() < 0.12) return { kind, path, body: undefined, isNew };
  const body = pick({ spec: spec() }, { metadata: { annotations: annotationsOf(world) } });
  return { kind, path, body, isNew };
}

function namespaceStep({ targets, project, homes }: World): Step {
  const metadata = pick(
    { labels: { [labels.project]: pick(`${project}-web`, `${project}-pay`, null) } },
    { annotations: { [annotations.sync]: pick("enabled", "enabled", "true", null) } },
    {
      annotations: {
        [annotations.syncFrom]: pick(null, homes[0] ?? "", homes.join(), "", "elsewhere"),
      },
    },
  );
  const path = `/api/v1/namespaces/${oneOf(targets)}`;
  return { kind: "Namespace", path, body: { metadata }, isNew: false };
}

async function secretStep(world: World): Promise<Step> {
  const [namespace, name] = [oneOf(world.targets), pick("db", "other")];
  const path = livePath({ namespace, name }, "Secret");
  const kind = "Secret";
  const { code } = await api.find(path);
  const home = oneOf(world.homes);
  const claimed = `${home}/${pick("db", "other")} -> ${namespace}/${pick(name, "elsewhere")}`;
  if (code === 404) {
    const marks = pick(
      {},
      { annotations: { [annotations.copyOf]: claimed } },
      {
        labels: {
          [labels.sharedSecretName]: "db",
          [labels.sharedSecretNamespace]: home,
        },
      },
    );
    const metadata = { namespace, name, ...marks };
    const body = { apiVersion: "v1", kind, metadata, data: dataOf("foreign") };
    return { kind, path, body, isNew: true };
  }
  if (random() < 0.3) return { kind, path, body: undefined, isNew: false };
  const body = pick<Readonly<Record<string, unknown>>>(
    { data: dataOf("edited") },
    { metadata: { labels: { [labels.sourceUid]: null } } },
    { metadata: { annotations: { [annotations.copyOf]: null } } },
    {
      metadata: {
        labels: { [labels.sourceUid]: null },
        annotations: { [annotations.copyOf]: null },
      },
    },
    { metadata: { annotations: { [annotations.disableSync]: pick("true", null) } } },
    { metadata: { labels: { [labels.sharedSecretName]: pick("db", "other", null) } } },
    { metadata: { labels: { [labels.sharedSecretNamespace]: pick(home, home, null) } } },
    { metadata: { annotations: { [annotations.syncKeys]: pick("A=first", "first,third", null) } } },
  );
  return { kind, path, body, isNew: false };
}

/** Applies a merge patch (RFC 7386). */
function merged(object: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(object) ? { ...object } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = merged(result[field], value);
  }
  return result;
}

/** The object of a step after it, as far as the plan depends on it. */
async function objectAfter({ path, body, isNew }: Step): Promise<unknown> {
  const metadata = {
    uid: "new",
    resourceVersion: "0",
    creationTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
  };
  return isNew ? merged({ metadata }, body) : merged(await api.find(path), body);
}

function changeOf({ kind }: Step, key: Key, after: unknown): ObjectChange {
  if (after === undefined) return { kind, key };
  switch (kind) {
    case "SharedSecret":
      return { kind, key, after: storedSource(after) };
    case "Namespace":
      return { kind, key, after: parseLatchkeyMetadata(after) };
    case "Secret":
      return { kind, key, after: storedSecret(after) };
  }
}

/**
 * What distinguishes one state of a Secret from another; the error annotation counts only for the
 * replaced ones: to remove it may be all that their write does.
 */
function contentsOf(
  { secrets }: Pick<SyncSnapshot, "secrets">,
  expected: Readonly<Record<Key, string>>,
): ReadonlyMap<Key, string> {
  return new Map(
    secrets.map((secret) => {
      const { [annotations.syncError]: error, ...rest } = secret.metadata.annotations;
      const isCounted = error !== undefined && expected[keyOf(secret.metadata)] === "replace";
      const marks = isCounted ? secret.metadata.annotations : rest;
      const content = "digest" in secret ? [secret.type, secret.digest] : [];
      // The API server sorts keys.
      const sorted = [secret.metadata.labels, marks].map((texts) =>
        Object.entries(texts)
          .map((entry) => entry.join("="))
          .toSorted(),
      );
      return [keyOf(secret.metadata), JSON.stringify([sorted, content])];
    }),
  );
}

function difference(
  was: ReadonlyMap<Key, string>,
  is: ReadonlyMap<Key, string>,
): Readonly<Record<Key, string>> {
  const keys = [...new Set([...was.keys(), ...is.keys()])].sort();
  return Object.fromEntries(
    keys.flatMap((key) => {
      if (!was.has(key)) return [[key, "create"]];
      if (!is.has(key)) return [[key, "delete"]];
      return was.get(key) === is.get(key) ? [] : [[key, "replace"]];
    }),
  );
}

/** Sends the change of a step; returns the code of the response. */
async function send({ path, body, isNew }: Step): Promise<number> {
  const answer =
    body === undefined
      ? await as(admin).delete(path)
      : isNew
        ? await as(admin).create(path.slice(0, path.lastIndexOf("/")), body)
        : await as(admin).merge(path, body);
  return answer.code;
}

async function makeWorld(): Promise<World> {
  const project = unique("project");
  return {
    project,
    homes: [await makeNamespace(), await makeNamespace()],
    targets: [
      await makeTarget(`${project}-web`),
      await makeTarget(`${project}-pay`),
      await makeTarget(`${project}-web`),
    ],
  };
}

describe("the plan of a change, computed from live objects,", () => {
  it(`is what the controller then does, ${steps} times (LATCHKEY_TEST_SEED=${seed})`, async () => {
    process.stderr.write(`controller-plan: LATCHKEY_TEST_SEED=${seed}\n`);
    const world = await makeWorld();
    const marker = { project: unique("marker"), namespace: await makeNamespace() };
    const place = { namespace: marker.namespace, name: "marker", uid: "", path: "" };
    const marked = {
      source: place,
      project: marker.project,
      target: await makeTarget(marker.project),
      copy: "",
    };
    const counts: Record<string, number> = {};
    const namespaces = [...world.homes, ...world.targets];
    const isEnough = (number: number): boolean =>
      number > (wantedActions.every((action) => action in counts) ? steps : mostSteps);
    for (let number = 1; !isEnough(number);) {
      const step = await pick(
        () => sourceStep(world),
        () => sourceStep(world),
        async () => namespaceStep(world),
        () => secretStep(world),
      )();
      if (step.isNew) await nextSecond();
      const before = await liveSnapshot(namespaces);
      const key = keyIn(step);
      const after = step.body === undefined ? undefined : await objectAfter(step);
      const change = changeOf(step, key, after);
      const plan = planChange(change, syncObjectsOf(before));
      // A policy may reject the change, which then does not count.
      if ((await send(step)) >= 300) continue;
      const expected = Object.fromEntries(
        plan
          .filter(({ action }) => action !== "nothing" && action !== "release")
          .map(({ target, action }) => [keyOf(target), action === "empty" ? "replace" : action]),
      );
      const others = before.secrets.filter(({ metadata }) => keyOf(metadata) !== key);
      const changed =
        change.kind === "Secret"
          ? [...others, ...(change.after === undefined ? [] : [change.after])]
          : before.secrets;
      const base = contentsOf({ secrets: changed }, expected);
      const lines = plan.map(
        ({ target, action, because }) => `${action} ${keyOf(target)}: ${outcomeSentence(because)}`,
      );
      const says = `step ${number}: ${step.kind} ${key} ${JSON.stringify(step.body)}\n${lines.join("\n")}`;
      const isAsPlanned = async () => {
        const found = contentsOf(await liveSnapshot(namespaces), expected);
        expect({ says, actions: difference(base, found) }).toEqual({ says, actions: expected });
        return true;
      };
      await eventually(isAsPlanned, { what: says });
      if (step.kind === "SharedSecret" && step.body === undefined) await becomesGone(step.path);
      await afterAnotherReconcile(marked);
      await isAsPlanned();
      for (const { action } of plan) counts[action] = (counts[action] ?? 0) + 1;
      number += 1;
    }
    process.stderr.write(`controller-plan: ${JSON.stringify(counts)}\n`);
    expect(Object.keys(counts)).toEqual(expect.arrayContaining(wantedActions));
  }, 900_000);
});

function keyIn({ kind, path }: Step): Key {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  return kind === "Namespace" ? name : keyOf({ namespace: parts.at(-3) ?? "", name });
}
