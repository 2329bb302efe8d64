import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  type AgentFixture,
  makeTarget,
  type Place,
  secretPath,
  startAgentFixture,
} from "../support/agent-fixture.ts";
import { get, mergePatch, post } from "../support/cluster-connection.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { etcdBackup } from "../support/etcd-backup.ts";
import { eventually } from "../support/eventually.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import { unique } from "../support/policy-request.ts";
import { base64 } from "../support/shared-secret-requests.ts";

const namespace = "team";
const sources = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
const withPassword = (password: string) => ({ spec: { data: { password: base64(password) } } });

let fixture: AgentFixture;
let target: string;
let project: string;

/** Makes a SharedSecret with a copy in the connected cluster. */
async function share(): Promise<Place> {
  const place = { namespace: target, name: unique("db") };
  const marks = { [annotations.syncToProjects]: project, [annotations.syncToClusters]: "east" };
  const metadata = { name: place.name, annotations: marks };
  const object = { apiVersion, kind: "SharedSecret", metadata, ...withPassword("first") };
  await fixture.central.arrange(post(sources, object));
  await fixture.arrives(place, { password: "first" });
  return place;
}

const change = ({ name }: Place, body: object) =>
  fixture.central.arrange(mergePatch(`${sources}/${name}`, body));

/** Withdraws a SharedSecret from the cluster, until nothing remembers it. */
async function withdraw(place: Place): Promise<void> {
  await change(place, { metadata: { annotations: { [annotations.syncToClusters]: null } } });
  await fixture.goes(place);
  await isForgotten(place);
}

async function isForgotten({ name }: Place): Promise<void> {
  const entry = { namespace: outboxNamespace("east"), name: outboxName({ namespace, name }) };
  const isGone = async () => (await fixture.central.ask({}, get(secretPath(entry)))).code === 404;
  await eventually(isGone, { what: `the end of the entry of ${name}`, within: 60_000 });
}

const uidOf = async ({ namespace: home, name }: Place) =>
  (await fixture.secret(home, name)).metadata["uid"];

describe.skipIf(!hasDedicatedClusters)("copies in a connected cluster after a restore", () => {
  beforeAll(async () => {
    fixture = await startAgentFixture();
    await fixture.central.arrange(postNamespace(namespace));
    project = unique("project");
    target = await makeTarget(fixture.east, project);
    await (await fixture.central.run({ restart: "at-once" })).waitReady();
  });
  afterAll(() => fixture?.stop());

  it("of the central cluster follow its SharedSecrets: what it does not know goes", async () => {
    const backup = etcdBackup(fixture.central.controlPlane);
    const [steady, withdrawn] = [await share(), await share()];
    await backup.save();
    const uid = await uidOf(steady);
    await withdraw(withdrawn);
    const unknown = await share();
    await backup.restore();
    await fixture.goes(unknown);
    await fixture.arrives(withdrawn, { password: "first" });
    await isForgotten(unknown);
    expect(await uidOf(steady)).toBe(uid);
  });

  it("of the connected cluster are compared with its outbox, and rewritten", async () => {
    const backup = etcdBackup(fixture.east.controlPlane);
    const [steady, withdrawn] = [await share(), await share()];
    await backup.save();
    const uid = await uidOf(steady);
    await change(steady, withPassword("second"));
    await fixture.arrives(steady, { password: "second" });
    await withdraw(withdrawn);
    const later = await share();
    await backup.restore();
    await fixture.arrives(steady, { password: "second" });
    await fixture.goes(withdrawn);
    await fixture.arrives(later, { password: "first" });
    await isForgotten(withdrawn);
    expect(await uidOf(steady)).toBe(uid);
  });
});
