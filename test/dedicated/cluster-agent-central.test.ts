import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { listAt, parseConditions } from "../../src/api/parse.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  type AgentFixture,
  makeTarget,
  type Place,
  secretPath,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { type Answer, get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import { unique } from "../support/policy-request.ts";
import { base64 } from "../support/shared-secret-requests.ts";

describe.skipIf(!hasDedicatedClusters)("a SharedSecret that names a connected cluster", () => {
  let fixture: AgentFixture;

  beforeAll(async () => {
    fixture = await startAgentFixture();
    const controller = await fixture.central.run();
    await controller.waitReady();
  });
  afterAll(() => fixture?.stop());

  const becomesCopied = (place: Place, data: Readonly<Record<string, string>>): Promise<Answer> =>
    fixture.arrives(place, data);
  const becomesGone = (place: Place): Promise<void> => fixture.goes(place);

  /** A SharedSecret with a copy in the connected cluster. */
  async function makeShared() {
    const { central, east } = fixture;
    const [namespace, name, project] = [unique("team"), unique("db"), unique("project")];
    await central.arrange(postNamespace(namespace));
    const target = await makeTarget(east, project);
    const collection = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
    const marks = {
      [annotations.syncToProjects]: project,
      [annotations.syncToClusters]: "east",
    };
    const metadata = { name, annotations: marks };
    const spec = { data: { password: base64("canary") } };
    const body = { apiVersion, kind: "SharedSecret", metadata, spec };
    await central.arrange(post(collection, body));
    const place: Place = { namespace: target, name };
    await becomesCopied(place, { password: "canary" });
    const entry = secretPath({
      ...{ namespace: outboxNamespace("east"), name: outboxName({ namespace, name }) },
    });
    return { path: `${collection}/${name}`, place, entry };
  }

  const condition = async (path: string) =>
    parseConditions((await fixture.central.arrange(get(path))).status).find(
      ({ type }) => type === "ClustersSynced",
    );

  it("has a copy there, and says so", async () => {
    const { path } = await makeShared();
    const isSynced = async () => (await condition(path))?.status === "True";
    const what = { what: "ClustersSynced", within: 60_000 };
    expect(await eventually(isSynced, what)).toBe(true);
  });

  it("changes its copy there", async () => {
    const { path, place } = await makeShared();
    const data = { password: base64("changed") };
    await fixture.central.arrange(mergePatch(path, { spec: { data } }));
    await becomesCopied(place, { password: "changed" });
  });

  it("has no copy there any more when it names the cluster no more", async () => {
    const { path, place, entry } = await makeShared();
    const marks = { [annotations.syncToClusters]: null };
    await fixture.central.arrange(mergePatch(path, { metadata: { annotations: marks } }));
    await becomesGone(place);
    // The tombstone goes once the agent has reported that nothing is left.
    const isGone = async () => (await fixture.central.ask({}, get(entry))).code === 404;
    await eventually(isGone, { what: "the end of the tombstone", within: 60_000 });
  });

  it("is deleted once its copy is gone there", async () => {
    const { path, place } = await makeShared();
    await fixture.central.arrange(remove(path));
    const isGone = async () => (await fixture.central.ask({}, get(path))).code === 404;
    await eventually(isGone, { what: "the end of the SharedSecret", within: 60_000 });
    expect((await fixture.secret(place.namespace, place.name)).code).toBe(404);
  });

  it("keeps its copy there when its entry is deleted, and gets the entry back", async () => {
    const { place, entry } = await makeShared();
    const { metadata } = await fixture.secret(place.namespace, place.name);
    await fixture.central.arrange(remove(entry));
    const isBack = async () => (await fixture.central.ask({}, get(entry))).code === 200;
    await eventually(isBack, { what: "the entry to be there again", within: 60_000 });
    const still = await fixture.secret(place.namespace, place.name);
    expect(still.metadata["uid"]).toBe(metadata["uid"]);
  });

  it("has copies that outlive a restored outbox: unknown ones are withdrawn by the centre", async () => {
    const { path, place, entry } = await makeShared();
    const { agent, central } = fixture;
    // While the agent is stopped, the source goes, and so does its tombstone.
    agent.kill("SIGSTOP");
    const marks = { [annotations.syncToClusters]: null };
    await central.arrange(mergePatch(path, { metadata: { annotations: marks } }));
    const isWithdrawn = async () => {
      const found = await central.ask({}, get(entry));
      return found.metadata?.annotations?.[annotations.withdrawn] !== undefined;
    };
    await eventually(isWithdrawn, { what: "the tombstone", within: 60_000 });
    await central.arrange(remove(entry));
    agent.kill("SIGCONT");
    await becomesGone(place);
    const listed = await fixture.east.arrange(
      get(`/api/v1/secrets?labelSelector=${labels.outboxUid}`),
    );
    const names = listAt(listed, "items").map((item) => JSON.stringify(item));
    expect(names.some((text) => text.includes(`"${place.name}"`))).toBe(false);
  });
});
