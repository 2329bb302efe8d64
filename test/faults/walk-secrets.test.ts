import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { apiRequest } from "../support/api-request.ts";
import { SecretJudge, strayValues, textOf } from "./walk-secret-judge.ts";
import { type SecretState, settled } from "./walk-secret-model.ts";
import { secretNames, secretSteps, sourceNames, valueOf } from "./walk-secret-steps.ts";
import { needlessOf, walksOf } from "./walk.ts";
import { keyOf, type SharedSecretState, type World } from "./walk-secret-world.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const place = { namespace: "the-web", name: "asking" };
const password = base64(valueOf("the-home/db", "first"));

const shared = (name: string, given: Partial<SharedSecretState> = {}): SharedSecretState => ({
  namespace: "the-home",
  name,
  uid: `uid of ${name}`,
  createdAt: "2026-01-01T00:00:00Z",
  isDeleting: false,
  annotations: { [annotations.syncToProjects]: "web" },
  data: { password },
  ...given,
});
const worldOf = (...sharedSecrets: readonly SharedSecretState[]): World => ({
  sharedSecrets,
  namespaces: { "the-web": { project: "web" } },
});
const asking = (name: string) => ({
  [labels.sharedSecretName]: name,
  [labels.sharedSecretNamespace]: "the-home",
});
const secret = (given: Partial<SecretState> = {}): SecretState => ({
  ...place,
  uid: "own",
  resourceVersion: "1",
  type: "Opaque",
  immutable: false,
  data: { former: base64("former") },
  labels: asking("db"),
  annotations: {},
  hasReason: false,
  ...given,
});
const marks = {
  [annotations.copyOf]: "the-home/db -> the-web/asking",
  [annotations.filled]: "true",
};
const filled = (given: Partial<SecretState> = {}): SecretState =>
  secret({
    data: { password },
    labels: { ...asking("db"), [labels.sourceUid]: "uid of db" },
    annotations: marks,
    ...given,
  });
const emptied = secret({ data: {}, hasReason: true });
const withKeys = (list: string) => ({ annotations: { [annotations.syncKeys]: list } });
const nobody = { annotations: { [annotations.syncToProjects]: "nobody" } };

const right = worldOf(shared("db"));
const none = worldOf();
const paused = {
  annotations: { [annotations.syncToProjects]: "web", [annotations.disableSync]: "true" },
};

describe("the model of a Secret that asks", () => {
  it.each<[rule: string, before: SecretState, world: World, after: SecretState | undefined]>([
    ["is filled as a whole", secret(), right, filled()],
    ["is left alone once it is filled", filled(), right, filled()],
    [
      "has the data keys that it picks",
      secret(withKeys("PASS=password")),
      right,
      filled({
        data: { PASS: password },
        annotations: { ...withKeys("PASS=password").annotations, ...marks },
      }),
    ],
    [
      "says why it is not filled",
      secret(withKeys("a=none")),
      right,
      secret({ ...withKeys("a=none"), hasReason: true }),
    ],
    ["keeps its own data when nothing permits it", secret(), none, secret({ hasReason: true })],
    ["is emptied with its SharedSecret", filled(), none, emptied],
    [
      "is emptied while its SharedSecret is being deleted",
      filled(),
      worldOf(shared("db", { isDeleting: true })),
      emptied,
    ],
    ["is emptied when its project is not named", filled(), worldOf(shared("db", nobody)), emptied],
    [
      "is emptied when its namespace has no project",
      filled(),
      { ...right, namespaces: { "the-web": {} } },
      emptied,
    ],
    [
      "is emptied when its namespace takes from other namespaces",
      filled(),
      { ...right, namespaces: { "the-web": { project: "web", syncFrom: "elsewhere" } } },
      emptied,
    ],
    [
      "keeps its data while the list of projects is invalid",
      filled(),
      worldOf(shared("db", { annotations: { [annotations.syncToProjects]: "web pay" } })),
      filled({ hasReason: true }),
    ],
    [
      "keeps old data while it is paused",
      filled({ data: {} }),
      worldOf(shared("db", paused)),
      filled({ data: {} }),
    ],
    [
      "gives up the data of another SharedSecret while it is paused",
      filled({ labels: { ...asking("api"), [labels.sourceUid]: "uid of db" } }),
      worldOf(shared("db"), shared("api", paused)),
      { ...emptied, labels: asking("api") },
    ],
    [
      "gives up the data of another SharedSecret if that which it asks for does not fit its type",
      filled({
        type: "kubernetes.io/tls",
        labels: { ...asking("api"), [labels.sourceUid]: "uid of db" },
      }),
      worldOf(shared("db"), shared("api")),
      {
        ...emptied,
        type: "kubernetes.io/tls",
        data: { "tls.crt": "", "tls.key": "" },
        labels: asking("api"),
      },
    ],
    [
      "is emptied without a reason when it does not ask any more",
      filled({ labels: { [labels.sourceUid]: "uid of db" } }),
      right,
      secret({ data: {}, labels: {} }),
    ],
    [
      "is not filled if it is immutable",
      secret({ immutable: true }),
      right,
      secret({ immutable: true, hasReason: true }),
    ],
    [
      "is deleted if it is immutable and not permitted",
      filled({ immutable: true }),
      none,
      undefined,
    ],
    [
      "is not written if Helm interprets its type",
      secret({ type: "helm.sh/release.v1" }),
      right,
      secret({ type: "helm.sh/release.v1" }),
    ],
    ["is foreign without marks", secret({ labels: {} }), right, secret({ labels: {} })],
  ])("%s", (_, before, world, after) => {
    expect(textOf(settled(before, place, world))).toBe(textOf(after));
  });

  it("is created as a copy where the namespace asks, by the oldest SharedSecret", () => {
    const younger = shared("asking", { createdAt: "2026-01-01T00:00:01Z" });
    const older = shared("other", {
      annotations: { [annotations.syncToProjects]: "*", [annotations.syncSecretName]: "asking" },
    });
    const namespaces = { "the-web": { project: "web", sync: "enabled" } };
    const made = settled(undefined, place, { sharedSecrets: [younger, older], namespaces });
    expect(made?.labels).toEqual({ [labels.sourceUid]: "uid of other" });
    expect(settled(made, place, { sharedSecrets: [], namespaces })).toBeUndefined();
  });
});

it("an immutable copy of old data is recreated", () => {
  const namespaces = { "the-web": { project: "web", sync: "enabled" } };
  const world = { sharedSecrets: [shared("asking")], namespaces };
  const copy = settled(undefined, place, world);
  const old = { ...secret(), ...copy, uid: "own", immutable: true, data: {} };
  expect(settled(old, place, world)).toEqual(copy);
});

const found = (state: SecretState | undefined) =>
  new Map(state === undefined ? [] : [[keyOf(place), state]]);

/** A judge that knows a Secret as a user has written it, and the worlds since then. */
function judgeOf(state: SecretState, ...worlds: readonly World[]): SecretJudge {
  const judge = new SecretJudge([place]);
  judge.wrote(place, state);
  for (const world of worlds) judge.sees(world);
  return judge;
}

describe("the judge of Secrets", () => {
  it("accepts what the model expects", () => {
    const written = filled({ resourceVersion: "2" });
    expect(judgeOf(secret(), right).atRest(found(written), right)).toEqual([]);
  });

  it("accepts a Secret that was filled in a world that has passed, and one that was not", () => {
    const worlds = [right, none];
    expect(judgeOf(secret(), ...worlds).atRest(found(emptied), none)).toEqual([]);
    const untouched = secret({ hasReason: true });
    expect(judgeOf(secret(), ...worlds).atRest(found(untouched), none)).toEqual([]);
  });

  it("accepts what follows from a namespace and a SharedSecret that were never there together", () => {
    const before: World = { ...none, namespaces: { "the-web": { project: "web" } } };
    const after: World = { ...right, namespaces: { "the-web": {} } };
    expect(judgeOf(secret(), before, after).atRest(found(emptied), after)).toEqual([]);
  });

  it("starts from what it has found", () => {
    const judge = judgeOf(secret(), right);
    judge.atRest(found(filled({ resourceVersion: "2" })), right);
    expect(judge.atRest(found(filled({ resourceVersion: "2" })), right)).toEqual([]);
    expect(judge.atRest(found(filled({ resourceVersion: "3" })), right)).toHaveLength(1);
  });

  it.each<[what: string, before: SecretState, world: World, actual: SecretState | undefined]>([
    ["is not filled", secret(), right, secret({ hasReason: true })],
    ["has other data", secret(), right, filled({ data: { password: "" } })],
    ["lost its own labels", secret({ labels: { ...asking("db"), own: "" } }), right, filled()],
    ["is deleted", filled(), none, undefined],
    ["is deleted and created again", filled(), none, { ...emptied, uid: "new" }],
    ["keeps its data", filled(), none, filled({ hasReason: true })],
    ["is emptied for no reason", filled(), right, emptied],
    [
      "is written although it is foreign",
      secret({ labels: {} }),
      right,
      secret({ labels: {}, resourceVersion: "2" }),
    ],
  ])("reports a Secret that %s", (_, before, world, actual) => {
    expect(judgeOf(before, world).atRest(found(actual), world)).toContainEqual(
      expect.stringMatching(/^the-web\/asking is /),
    );
  });

  it.each<[what: string, state: SecretState, world: World]>([
    ["its SharedSecret is gone", filled(), none],
    ["its project is not named", filled(), worldOf(shared("db", nobody))],
    ["its namespace has no project", filled(), { ...right, namespaces: { "the-web": {} } }],
    ["it asks for another SharedSecret", filled({ labels: asking("api") }), right],
    ["it does not ask, and neither does its namespace", filled({ labels: {} }), right],
    [
      "it has the value of another",
      filled({ data: { a: base64(valueOf("the-home/api", "")) } }),
      right,
    ],
  ])("reports values if %s", (_, state, world) => {
    expect(strayValues(state, world)).toHaveLength(1);
  });

  it.each<[string, readonly (readonly [string, string, number?])[], readonly number[]]>([
    ["a refused write is repeated", [["1", "secrets/db", 422]], []],
    ["a write is accepted", [["1", "secrets/db", 200]], [0]],
    ["a write is forbidden", [["1", "secrets/db", 403]], [0]],
    ["a write is not answered", [["1", "secrets/db"]], [0]],
    ["another kind is refused", [["1", "events", 422]], [0]],
    [
      "a refused write is repeated, and reported",
      [
        ["1", "secrets/db", 422],
        ["1", "sharedsecrets/db/status", 200],
        ["1", "events", 201],
        ["1", "sharedsecrets/db", 200],
        ["2", "sharedsecrets/db/status", 200],
      ],
      [3, 4],
    ],
  ])("finds needless writes when %s", (_, given, expected) => {
    const writes = given.map(([process, path, status]) => ({
      process,
      request: apiRequest({ method: "PUT", url: `/api/v1/namespaces/web/${path}` }),
      answer: status === undefined ? undefined : { at: 0, status, sent: "" },
    }));
    expect(needlessOf(writes)).toEqual(expected.map((index) => writes[index]));
  });

  it("shows no whole value", () => {
    const long = filled({ data: { password: base64(valueOf("the-home/db", "x".repeat(100))) } });
    expect(textOf(long)).not.toContain("x".repeat(60));
  });
});

describe("walks with placeholders", () => {
  const drawn = fc.sample(walksOf(secretSteps), { seed: 1, numRuns: 600 });
  const actions = drawn.flatMap(({ steps }) => steps.map(({ action }) => action));

  it("take every action at every object", () => {
    const seen = new Set(
      actions.map((action) => `${action.do} ${"at" in action ? action.at : ""}`),
    );
    const expected = ["put", "merge", "delete"].flatMap((what) => [
      ...secretNames.map((at) => `secret ${what} ${at}`),
      ...sourceNames.map((at) => `shared ${what} ${at}`),
    ]);
    expected.push("namespace ");
    expect(expected.filter((one) => !seen.has(one))).toEqual([]);
  });

  it.each([
    ["asks for another SharedSecret", /"secret merge".*sharedsecret-name":"api"/],
    ["asks no more", /"secret merge".*sharedsecret-name":null/],
    ["picks a data key", /"secret merge".*sync-keys":"PASS=password"/],
    ["becomes immutable", /"secret merge".*"immutable":true/],
    ["is emptied by hand", /"secret merge".*"data":null/],
    ["is edited by hand", /"secret merge".*"added"/],
    ["loses a mark", /"secret merge".*"management.service\/filled":null/],
    ["is a Secret of Helm", /"secret put".*helm\.sh/],
  ])("have a Secret that %s", (_, form) => {
    expect(actions.map((action) => JSON.stringify(action)).some((text) => form.test(text))).toBe(
      true,
    );
  });

  it("are the same for the same seed", () => {
    const draw = () =>
      fc.sample(walksOf({ ...secretSteps, maxSteps: 5 }), { seed: 7, numRuns: 20 });
    expect(draw()).toEqual(draw());
  });
});
