import { readFile, readdir } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { listTable } from "../support/list-table.ts";
import { admin, api, type Answer, ask, makeNamespace, unique } from "../support/policy-request.ts";
import { sharedSecretPath } from "../support/shared-secret-requests.ts";
import { dryCreate, merge, shared, withPolicies } from "./policy-fixture.ts";

const clusters = "/api/v1/namespaces/latchkey-clusters";
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
  const found = await api.find(clusters);
  if (found.code === 404)
    await api.create("/api/v1/namespaces", { metadata: { name: "latchkey-clusters" } });
});

const share = (name: string) => (text: string) => {
  // Without projects, a list of clusters causes a warning.
  const given = { [annotations.syncToProjects]: "a", [name]: text };
  return dryCreate(admin, sharedSecretPath(namespace), shared(given));
};
const ofNamespace = (name: string) => (text: string) =>
  merge(admin, `/api/v1/namespaces/${namespace}?dryRun=All`, {
    metadata: { annotations: { [name]: text } },
  });
const ofCluster = (name: string) => (text: string) =>
  ask(admin, {
    method: "POST",
    path: `${clusters}/secrets?dryRun=All`,
    body: {
      metadata: {
        name: unique("cluster"),
        labels: { [labels.cluster]: "east" },
        annotations: { [name]: text },
      },
    },
  });

/** Annotations with a list that a policy reads, and how one is written. */
const readers: readonly (readonly [string, (text: string) => Promise<Answer>])[] = [
  [annotations.syncToProjects, share(annotations.syncToProjects)],
  [annotations.syncToClusters, share(annotations.syncToClusters)],
  [annotations.syncFrom, ofNamespace(annotations.syncFrom)],
  [annotations.allowCopyKeys, ofNamespace(annotations.allowCopyKeys)],
  [annotations.projects, ofCluster(annotations.projects)],
];

const rows = listTable.map((row) => [JSON.stringify(row.text), row] as const);

withPolicies.each(readers)("a policy reads a list in %s", (name, write) => {
  it.each(rows)("%s", async (_text, { text, bad }) => {
    const { code, message, warnings = [] } = await write(text);
    const said = [code < 300 ? "" : message, ...warnings].filter((each) => each.includes(name));
    // A warning is in a header, which has no control characters, and others in Latin-1.
    const named = bad !== undefined && /^[ -~]*$/.test(bad) ? `"${bad}"` : `annotations[${name}]`;
    const found = said[0] ?? (code < 300 ? "stored" : message);
    expect(found).toContain(bad === undefined ? "stored" : named);
  });
});

describe("every policy", () => {
  it("separates lists in the same way", async () => {
    const directory = new URL("../../config/policies/", import.meta.url);
    const texts = await Promise.all(
      (await readdir(directory)).map((file) => readFile(new URL(file, directory), "utf8")),
    );
    const splits = texts.flatMap((text) => text.match(/.*?[.]split[(].../g) ?? []);
    expect(splits.length).toBeGreaterThan(8);
    const form = String.raw`.replace('\n', ',').replace('\r', ',').split(','`;
    expect(splits.filter((split) => !split.endsWith(form))).toEqual([]);
  });
});
