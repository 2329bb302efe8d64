import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { FollowedData } from "../../src/domain/sync/source-secret.ts";
import { rawSharedSecret, syncedInformers } from "../support/fake-informers.ts";

const [rare, often] = [false, true].map((changesOften) => ({ changesOften }));
const read: FollowedData = {
  kind: "data",
  metadata: { uid: "uid-source", resourceVersion: "7" },
  type: "kubernetes.io/tls",
  data: { password: new SecretText("Y2FuYXJ5") },
};
const missing: FollowedData = {
  kind: "kept",
  reason: "SourceMissing",
  message: "data-from: Secret does not exist",
};
const withdrawn: FollowedData = { kind: "withdrawn", message: "data-from: does not name it" };

function follower(
  metadata: Readonly<Record<string, unknown>> = {},
  marks: Readonly<Record<string, string>> = {},
) {
  const given = { [annotations.syncToProjects]: "web", [annotations.dataFrom]: "source", ...marks };
  return rawSharedSecret("db", { data: {}, metadata: { ...metadata, annotations: given } });
}

async function setup(first: FollowedData = read) {
  const changes: string[] = [];
  const { informers, listWatch } = await syncedInformers(
    { sharedsecrets: [follower()] },
    ({ resource }) => changes.push(resource.plural),
  );
  const stored = () => informers.stores.sharedSecrets.get("team/db");
  const record = (data: FollowedData, pace = rare) => {
    const before = changes.length;
    informers.recordFollowed("team/db", data, { changesOften: pace?.changesOften ?? false });
    return changes.length - before;
  };
  const becomes = (type: "ADDED" | "MODIFIED" | "DELETED", object: ReturnType<typeof follower>) =>
    listWatch.emit("sharedsecrets", type, object);
  record(first);
  return { stored, record, becomes };
}

test("a SharedSecret has the data, the type and the version of what was read", async () => {
  const { stored } = await setup();
  expect(stored()).toMatchObject({
    keys: 1,
    data: read.data,
    followed: { name: "source", state: "data", version: "uid-source 7" },
    options: { projects: ["web"], secretType: "kubernetes.io/tls" },
  });
  expect(stored()?.options.problem).toBeUndefined();
});

test("without data, it says why: kept with its projects, withdrawn without", async () => {
  const kept = await setup(missing);
  expect(kept.stored()).toMatchObject({
    keys: 0,
    followed: { state: "none" },
    options: { projects: ["web"], problem: { reason: "SourceMissing", message: missing.message } },
  });
  const refused = await setup(withdrawn);
  expect(refused.stored()).toMatchObject({
    followed: { state: "none" },
    options: { projects: [], clusters: [], refusal: { reason: "SourceNotAllowed" } },
  });
  expect(refused.stored()?.options.problem).toBeUndefined();
});

test("a change of the status or the spec keeps it", async () => {
  const { stored, becomes } = await setup();
  const labelled = follower({ labels: { team: "one" }, finalizers: [] });
  becomes("MODIFIED", labelled);
  expect(stored()).toMatchObject({
    secret: { metadata: { resourceVersion: labelled.metadata["resourceVersion"], finalizers: [] } },
    followed: { state: "data" },
    data: read.data,
  });
});

test.for<[string, () => ReturnType<typeof follower>]>([
  ["with another annotation", () => follower({}, { [annotations.syncToProjects]: "web, pay" })],
  ["that follows another Secret", () => follower({}, { [annotations.dataFrom]: "other" })],
  ["of another uid", () => follower({ uid: "uid-again" })],
])("a SharedSecret %s has no data before the Secret is read again", async ([, changed]) => {
  const { stored, becomes, record } = await setup();
  becomes("MODIFIED", changed());
  expect(stored()).toMatchObject({ keys: 0, followed: { state: "unread" } });
  expect(stored()?.data).toEqual({});
  expect(stored()?.options.problem?.reason).toBe("Progressing");
  record(read);
  expect(stored()?.followed?.state).toBe("data");
});

test("one that was gone has nothing of what was read before, until the Secret is read again", async () => {
  const { stored, becomes } = await setup();
  becomes("DELETED", follower());
  expect(stored()).toBeUndefined();
  becomes("ADDED", follower());
  expect(stored()?.followed?.state).toBe("unread");
});

test("one that follows no Secret any more has its own data, which no reading changes", async () => {
  const { stored, record, becomes } = await setup();
  becomes("MODIFIED", rawSharedSecret("db"));
  expect(stored()?.followed).toBeUndefined();
  expect(record(missing)).toBe(0);
  expect(stored()).toMatchObject({ keys: 1 });
});

test("the same again changes nothing, and what differs is one change", async () => {
  const { stored, record } = await setup();
  expect(record(read)).toBe(0);
  expect(record({ ...read, metadata: { uid: "uid-source", resourceVersion: "8" } })).toBe(1);
  expect(record({ ...read, metadata: { uid: "uid-source", resourceVersion: "8" } }, often)).toBe(1);
  expect(stored()?.followed?.changesOften).toBe(true);
  expect([record(withdrawn), record(withdrawn), record(missing)]).toEqual([1, 0, 1]);
});

test("a SharedSecret that is not stored has nothing", async () => {
  const { informers } = await syncedInformers({});
  informers.recordFollowed("team/db", read, { changesOften: false });
  expect(informers.stores.sharedSecrets.size).toBe(0);
});
