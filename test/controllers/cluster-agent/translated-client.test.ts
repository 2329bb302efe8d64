import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { resources } from "../../../src/api/resources.ts";
import { translatedClient } from "../../../src/controllers/cluster-agent/translated-client.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import { isKubeError } from "../../../src/kube/client/kube-error.ts";
import { FakeClient } from "../../support/fake-client.ts";
import { cluster, outbox, rawEntry } from "../../support/raw-outbox.ts";

const target = { namespace: "pay", name: "db" };
const source = { namespace: "team", name: "db" };
const marks = {
  labels: { [labels.sourceUid]: "uid-db", team: "blue" },
  annotations: { [annotations.copyOf]: "team/db -> pay/db", [annotations.syncError]: "no" },
};
const swapped = {
  labels: { [labels.outboxUid]: "uid-db", team: "blue" },
  annotations: {
    [annotations.copyOf]: "east//team/db -> pay/db",
    [annotations.clusterSyncError]: "no",
  },
};
const manifest = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...target, ...marks },
  data: { password: new SecretText("Y2FuYXJ5") },
};

function setup(entry: unknown = rawEntry("db")) {
  const local = new FakeClient(() => ({ metadata: { ...target, ...swapped } }));
  const central = new FakeClient(() => entry);
  return { local, central, client: translatedClient({ local, central, cluster }) };
}

describe("a Secret", () => {
  test.each(["create", "replace"] as const)(
    "is sent with the marks of the agent: %s",
    async (verb) => {
      const { client, local } = setup();
      const answer = await client[verb](resources.secrets, manifest);
      expect(local.requests).toMatchObject([
        { verb, body: { ...manifest, metadata: { ...target, ...swapped } } },
      ]);
      expect(answer).toMatchObject({ metadata: marks });
    },
  );

  test("is patched with the marks of the agent, and nothing else is added", async () => {
    const { client, local } = setup();
    const body = { metadata: { resourceVersion: "7", labels: { [labels.sourceUid]: "uid-db" } } };
    await client.patch(resources.secrets, target, { body });
    const sent = { metadata: { resourceVersion: "7", labels: { [labels.outboxUid]: "uid-db" } } };
    expect(local.requests).toMatchObject([{ verb: "patch", body: { body: sent } }]);
    expect(JSON.stringify(local.requests[0]?.body)).not.toContain("annotations");
  });

  test.each(["get", "getMetadata"] as const)("is read as a copy: %s", async (verb) => {
    expect(await setup().client[verb](resources.secrets, target)).toMatchObject({
      metadata: marks,
    });
  });
});

describe("a SharedSecret", () => {
  test("is read from the outbox, and never from the connected cluster", async () => {
    const { client, local, central } = setup();
    expect(await client.get(resources.sharedSecrets, source)).toMatchObject({
      metadata: { uid: "uid-db" },
      spec: { data: { password: "Y2FuYXJ5" } },
    });
    expect(central.lines).toEqual([`get secrets ${outbox}/${outboxName(source)}`]);
    expect(local.lines).toEqual([]);
  });

  test("does not exist if its Secret is no entry", async () => {
    const { client } = setup(rawEntry("db", { type: "Opaque" }));
    const error: unknown = await client.get(resources.sharedSecrets, source).catch((why) => why);
    expect(isKubeError(error, "NotFound")).toBe(true);
    expect(String(error)).not.toContain("Y2FuYXJ5");
  });

  test("is never written: it would be that of a Latchkey in the connected cluster", async () => {
    const { client, local } = setup();
    const written = { ...manifest, metadata: source };
    const patch = { body: { metadata: { resourceVersion: "1" } } };
    for (const write of [
      client.create(resources.sharedSecrets, written),
      client.replace(resources.sharedSecrets, written),
      client.patch(resources.sharedSecrets, source, patch),
      client.delete(resources.sharedSecrets, source, { uid: "x" }),
    ])
      await expect(write).rejects.toThrow("an agent writes no SharedSecrets");
    expect(local.lines).toEqual([]);
  });
});

test("objects of other kinds are sent as they are", async () => {
  const { client, local } = setup();
  const event = { ...manifest, kind: "Event" };
  await client.create(resources.events, event);
  expect(local.requests).toMatchObject([{ body: event }]);
});
