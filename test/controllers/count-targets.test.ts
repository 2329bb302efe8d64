import { expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { countTargets } from "../../src/controllers/count-targets.ts";
import { noteFailure } from "../../src/controllers/failures.ts";
import { copyReconciler } from "../../src/controllers/kinds/copy.ts";
import { projectNamespace, rawCopy, rawSharedSecret } from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { fakeWorld } from "../support/world.ts";

/** The other SharedSecret is newer, and its copies have the same name. */
const newer = rawSharedSecret("newer", {
  metadata: {
    creationTimestamp: "2026-02-01T00:00:00Z",
    annotations: { [annotations.syncToProjects]: "web", [annotations.syncSecretName]: "db" },
  },
});

/** Counts the targets of `team/db`, or of another SharedSecret, one at a time. */
async function counted(listed: Parameters<typeof fakeWorld>[0], name = "db") {
  const { world } = await fakeWorld(listed);
  const refused = { kind: "refused", reason: "Forbidden", message: "exceeded quota" } as const;
  noteFailure(copyReconciler, "c/db", refused, world);
  noteFailure(copyReconciler, "d/db", { ...refused, kind: "failed" }, world);
  const source = world.stores.sharedSecrets.get(`team/${name}`);
  if (source === undefined) throw new Error(`no SharedSecret ${name} is stored`);
  let visited = 0;
  const summary = await countTargets(source, world, async (items, work) => {
    for (const item of items) {
      visited += 1;
      await Promise.resolve();
      work(item);
    }
  });
  return { ...summary, visited };
}

const listed = {
  namespaces: ["a", "b", "c", "d"].map((name) => projectNamespace(name)),
  sharedsecrets: [rawSharedSecret("db"), newer],
  secrets: [rawCopy("db", "a"), rawObject({ namespace: "b", name: "db" })],
};

test("counts copies, unmanaged Secrets, reported failures and missing copies", async () => {
  expect(await counted(listed)).toMatchObject({
    visited: 4,
    desired: 4,
    synced: 1,
    conflicts: 1,
    failed: 1,
    pending: 1,
    failures: [
      { namespace: "b", reason: "NotManaged", regarding: { subject: { uid: "uid-db" } } },
      { namespace: "c", reason: "Forbidden", message: "exceeded quota" },
    ],
  });
});

test("an Event at a target without a Secret regards its namespace, in that namespace", async () => {
  const { failures } = await counted(listed);
  expect(failures[1]?.regarding).toMatchObject({
    resource: { plural: "namespaces" },
    subject: { namespace: "c", name: "c", uid: "uid-c" },
  });
});

test("names the newer SharedSecret with the same targets, and counts its targets as conflicts", async () => {
  const { contested } = await counted(listed);
  expect(contested).toMatchObject({ targets: 4, newer: { name: "newer" } });
  expect(await counted(listed, "newer")).toMatchObject({
    desired: 4,
    conflicts: 4,
    contested: { targets: 0 },
  });
});

test("counts the targets that may not have its labels, except placeholders", async () => {
  const copying = rawSharedSecret("db", {
    metadata: {
      annotations: { [annotations.syncToProjects]: "web", [annotations.copyLabels]: "team=pay" },
    },
  });
  const asking = { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "team" };
  const placeholder = rawObject({ namespace: "d", name: "db", labels: asking });
  const { withheld } = await counted({
    ...listed,
    sharedsecrets: [copying],
    secrets: [placeholder],
  });
  expect(withheld).toEqual({ targets: 3, key: "team" });
});

test("names the projects without a namespace", async () => {
  expect(await counted({ sharedsecrets: [rawSharedSecret("db")] })).toMatchObject({
    visited: 0,
    desired: 0,
    emptyProjects: [{ project: "web" }],
  });
});
