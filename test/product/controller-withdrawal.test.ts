import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, unique } from "../support/policy-request.ts";
import { makeSharedSecret, secretPath, view } from "../support/shared-secret-requests.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import {
  afterAnotherReconcile,
  becomesCurrent,
  dataOf,
  eventsAt,
  makeSecret,
  makeSynced,
  type Synced,
  to,
} from "./sync-fixture.ts";

afterAll(expectNoTrouble);

const annotate = (path: string, given: Readonly<Record<string, string | null>>) =>
  api.merge(path, { metadata: { annotations: given } });
const invalid = { [annotations.syncSecretType]: "helm.sh/release.v1" };
const paused = { [annotations.disableSync]: "true" };
const relabel = (copy: string) =>
  api.merge(copy, { metadata: { labels: { [labels.sourceUid]: unique("uid") } } });

describe.concurrent("a copy whose label has another uid", () => {
  it.each<[string, (synced: Synced) => Promise<unknown>]>([
    ["while the source is paused", ({ source }) => annotate(source.path, paused)],
    ["while the copy is paused", ({ copy }) => annotate(copy, paused)],
    ["while the source is invalid", ({ source }) => annotate(source.path, invalid)],
  ])("is deleted with its source: %s", async (_, arrange) => {
    const synced = await makeSynced();
    await arrange(synced);
    await afterAnotherReconcile(synced);
    await relabel(synced.copy);
    await api.delete(synced.source.path);
    await becomesGone(synced.copy);
  });

  it("is deleted with its source that was restored as another object", async () => {
    const { source, project, target } = await makeSynced();
    const name = unique("restored");
    const restored = await makeSharedSecret({
      namespace: source.namespace,
      name,
      annotations: to(project, paused),
      spec: { data: dataOf("first") },
    });
    const copyOf = `${source.namespace}/${name} -> ${target}/${name}`;
    await makeSecret(target, name, {
      metadata: {
        name,
        labels: { [labels.sourceUid]: unique("uid") },
        annotations: { [annotations.copyOf]: copyOf },
      },
    });
    await api.delete(restored.path);
    await becomesGone(secretPath(target, name));
  });
});

describe.concurrent("data of a source that may not sync to a namespace any more", () => {
  /** Another source of the same Secret, also for another project, to which the namespace moves. */
  async function move(
    { source, project, target }: Synced,
    others: Readonly<Record<string, string>> = {},
  ) {
    const other = unique("project");
    const next = await makeSharedSecret({
      namespace: source.namespace,
      annotations: to(`${project}, ${other}`, {
        [annotations.syncSecretName]: source.name,
        ...others,
      }),
      spec: { data: dataOf("next") },
    });
    // A copy is deleted without a look at a source that the controller has not observed.
    await becomes("the next source to be observed", () => view(next), { settled: true });
    const leave = () =>
      api.merge(`/api/v1/namespaces/${target}`, {
        metadata: { labels: { [labels.project]: other } },
      });
    return { next, leave };
  }

  it("is deleted from a paused copy with its source", async () => {
    const synced = await makeSynced();
    await annotate(synced.copy, paused);
    await afterAnotherReconcile(synced);
    await api.delete(synced.source.path);
    await becomesGone(synced.copy);
    await eventsAt(synced.copy, "DataRevoked");
  });

  it("is deleted while the next source is paused", async () => {
    const synced = await makeSynced();
    const { leave } = await move(synced, paused);
    await leave();
    await becomesGone(synced.copy);
    await eventsAt(synced.copy, "DataRevoked");
  });

  it("is replaced by that of the next source while the copy is paused", async () => {
    const synced = await makeSynced();
    await annotate(synced.copy, paused);
    const { next, leave } = await move(synced);
    await leave();
    await becomesCurrent({ source: next, copy: synced.copy }, dataOf("next"));
    await eventsAt(synced.copy, "DataRevoked");
  });

  it("is taken out of a paused placeholder", async () => {
    const synced = await makeSynced();
    const { source, target } = synced;
    const name = unique("placeholder");
    const path = secretPath(target, name);
    const asking = {
      [labels.sharedSecretName]: source.name,
      [labels.sharedSecretNamespace]: source.namespace,
    };
    await makeSecret(target, name, { data: {}, metadata: { name, labels: asking } });
    const data = async () => recordAt(await api.find(path), "data");
    await becomes("the placeholder to be filled", data, dataOf("first", "second"));
    await annotate(path, paused);
    await (await move(synced)).leave();
    await becomes("the placeholder to be empty", async () => Object.keys(await data()), []);
    await eventsAt(path, "DataRevoked");
  });

  it("stays in a paused copy of a source that is merely invalid", async () => {
    const synced = await makeSynced();
    await annotate(synced.copy, paused);
    await annotate(synced.source.path, invalid);
    await afterAnotherReconcile(synced);
    expect(recordAt(await api.find(synced.copy), "data")).toEqual(dataOf("first", "second"));
  });
});

it("a Secret with the label of a source alone is not deleted to be created again", async () => {
  const { source, project, target } = await makeSynced();
  const name = unique("labelled");
  const { metadata } = await makeSecret(target, name, {
    immutable: true,
    metadata: { name },
  });
  const other = await makeSharedSecret({
    namespace: source.namespace,
    annotations: to(project, { [annotations.syncSecretName]: name }),
    spec: { data: dataOf("first") },
  });
  const path = secretPath(target, name);
  await api.merge(path, { metadata: { labels: { [labels.sourceUid]: other.uid } } });
  const failures = async () => recordAt((await api.get(other.path)).status, "sync")["conflicts"];
  await becomes("the conflict to be reported", failures, 1);
  expect((await api.find(path)).metadata.uid).toBe(metadata.uid);
});
