import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { explain } from "../../src/domain/sync/explain.ts";
import type { OutcomeKind } from "../../src/domain/sync/outcome.ts";
import { syncObjectsOf } from "../../src/domain/sync/sync-objects.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { liveSnapshot, storedSource } from "./live-snapshot.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, as, bind, makeNamespace, unique, type Caller } from "../support/policy-request.ts";
import { isAtLength } from "../support/property-runs.ts";
import {
  makeSharedSecret,
  makeTarget,
  secretPath,
  type Place,
} from "../support/shared-secret-requests.ts";
import {
  afterAnotherReconcile,
  becomesCurrent,
  dataOf,
  makeSecret,
  stateOf,
  to,
} from "./sync-fixture.ts";
import { outcomeSentence } from "../support/outcome-sentence.ts";

afterAll(expectNoTrouble);

/** Who sets the annotation of the source: with the verb share on all projects, or without. */
const deployers = {
  "with share": { user: unique("sharer") },
  "without share": { user: unique("deployer") },
} as const satisfies Record<string, Caller>;

const offers = ["the project", "another project", "no project"] as const;
const requests = ["asks", "has a placeholder", "does not ask"] as const;
/** `own`: a copy of an earlier consent. `adopted`: a Secret with the label of the source alone. */
const secrets = ["no Secret", "a foreign Secret", "an own copy", "an adopted Secret"] as const;

interface Row {
  readonly offer: (typeof offers)[number];
  readonly request: (typeof requests)[number];
  readonly secret: (typeof secrets)[number];
  readonly deployer: keyof typeof deployers;
}

/** All rows, or a third of them that has every pair of two values. */
const rows: readonly Row[] = offers.flatMap((offer, i) =>
  requests.flatMap((request, j) =>
    secrets.flatMap((secret, k) =>
      (["with share", "without share"] as const).flatMap((deployer, l) =>
        isAtLength || (i + j + k + l) % 3 === 0 ? [{ offer, request, secret, deployer }] : [],
      ),
    ),
  ),
);

/** What the row ends with, by the rules of docs/shared-secret.md. */
function outcomeOf({ offer, request, secret, deployer }: Row): {
  readonly kind: OutcomeKind;
  readonly isAccepted: boolean;
} {
  // The administrator had named the project when the own copy was made.
  const before = secret === "an own copy" ? "the project" : "no project";
  const isAccepted = deployer === "with share" || offer === "no project" || offer === before;
  const stored = isAccepted ? offer : before;
  if (stored === "no project") return { kind: "not-offered", isAccepted };
  if (request !== "asks") return { kind: "sync-not-enabled", isAccepted };
  if (stored === "another project") return { kind: "project-not-named", isAccepted };
  return { kind: secret === "a foreign Secret" ? "not-managed" : "arrives", isAccepted };
}

/** Whether a placeholder in the namespace has the data: it does not need the namespace to ask. */
function isFilledIn({ offer, request, secret }: Row, isAccepted: boolean): boolean {
  const isNamed = isAccepted ? offer === "the project" : secret === "an own copy";
  return request === "has a placeholder" && isNamed;
}

interface Scene {
  readonly source: Place;
  readonly project: string;
  readonly target: string;
  readonly copy: string;
}

/** Creates the source, the namespace and its Secret, before the deployer and the project decide. */
async function makeScene({ secret }: Row): Promise<Scene> {
  const project = unique("project");
  const namespace = await makeNamespace();
  const target = await makeTarget(project, namespace);
  const source = await makeSharedSecret({
    namespace,
    annotations: secret === "an own copy" ? to(project) : {},
    spec: { data: dataOf("first", "second") },
  });
  const copy = secretPath(target, source.name);
  if (secret === "an own copy") await becomesCurrent({ source, copy });
  if (secret === "a foreign Secret") await makeSecret(target, source.name);
  if (secret === "an adopted Secret") {
    const metadata = { name: source.name, labels: { [labels.sourceUid]: source.uid } };
    await makeSecret(target, source.name, { metadata });
  }
  return { source, project, target, copy };
}

/** Lets the namespace ask, or not, and creates the placeholder. */
async function decideTarget({ source, target }: Scene, { request, secret }: Row): Promise<void> {
  if (request === "asks") return;
  await api.merge(`/api/v1/namespaces/${target}`, {
    metadata: { annotations: { [annotations.sync]: null } },
  });
  if (request === "does not ask") return;
  const marks = {
    [labels.sharedSecretName]: source.name,
    [labels.sharedSecretNamespace]: source.namespace,
  };
  await makeSecret(target, "placeholder", { metadata: { name: "placeholder", labels: marks } });
  const copy = secretPath(target, "placeholder");
  if (secret === "an own copy") await becomesCurrent({ source, copy });
}

async function decideSource({ source, project }: Scene, { offer, deployer }: Row): Promise<number> {
  const list = { "the project": project, "another project": `not-${project}`, "no project": null };
  const { code } = await as(deployers[deployer]).merge(source.path, {
    metadata: { annotations: { [annotations.syncToProjects]: list[offer] } },
    spec: { data: dataOf("third") },
  });
  return code;
}

describe.skipIf(!inject("hasPolicies")).concurrent("a source that a deployer offers to", () => {
  beforeAll(async () => {
    for (const { user } of Object.values(deployers))
      await bind({ kind: "User", name: user }, "latchkey-sharedsecret-admin");
    await bind({ kind: "User", name: deployers["with share"].user }, "latchkey-project-sharer");
  });

  it.each(rows)(
    "$offer ($deployer), where the namespace $request and there is $secret",
    async (row) => {
      const expected = outcomeOf(row);
      const scene = await makeScene(row);
      const { source, target, copy } = scene;
      await decideTarget(scene, row);
      const before = await stateOf(copy);
      const placeholder = secretPath(target, "placeholder");
      const asked = await api.find(placeholder);
      expect(await decideSource(scene, row)).toBe(expected.isAccepted ? 200 : 403);

      const data = dataOf("first", "second", ...(expected.isAccepted ? ["third"] : []));
      const isOwn = row.secret === "an own copy";
      if (expected.kind === "arrives") await becomesCurrent({ source, copy }, data);
      else if (isOwn) await becomesGone(copy);
      const marker = await makeTarget(unique("marker"), source.namespace);
      const project = recordAt((await api.find(`/api/v1/namespaces/${marker}`)).metadata, "labels");
      await afterAnotherReconcile({
        ...scene,
        project: String(project[labels.project]),
        target: marker,
      });
      await becomes(
        "the outcome to be explained",
        async () => {
          const snapshot = await liveSnapshot([source.namespace, target]);
          const live = storedSource(await api.get(source.path));
          const explanation = explain(live, { namespace: target }, syncObjectsOf(snapshot));
          return { kind: explanation.kind, says: outcomeSentence(explanation) };
        },
        { kind: expected.kind, says: expect.stringMatching(/\.$/) },
      );
      const isFilled = isFilledIn(row, expected.isAccepted);
      const isEmptied = isOwn && row.request === "has a placeholder";
      const left = isEmptied ? undefined : asked.data;
      await becomes(
        "the placeholder to be filled, emptied or unchanged",
        async () => ({ data: (await api.find(placeholder)).data }),
        { data: isFilled ? data : left },
      );
      const after = await stateOf(copy);
      const isUnchanged = expected.kind !== "arrives" && !isOwn;
      expect(isUnchanged ? after : before).toEqual(before);
      expect({ code: (await api.find(copy)).code }).toEqual({
        code:
          expected.kind === "arrives" || (isUnchanged && row.secret !== "no Secret") ? 200 : 404,
      });
    },
  );
});
