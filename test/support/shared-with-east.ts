import { annotations, apiVersion } from "../../src/api/names.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { type AgentFixture, makeTarget, type Place, secretPath } from "./agent-fixture.ts";
import { get, mergePatch, post } from "./cluster-connection.ts";
import { eventually } from "./eventually.ts";
import { postNamespace } from "./latchkey-objects.ts";
import { unique } from "./policy-request.ts";
import { base64 } from "./shared-secret-requests.ts";

/** A SharedSecret with copies in the connected cluster of a fixture. */
export interface SharedWithEast {
  readonly path: string;
  /** Its first copy. */
  readonly place: Place;
  /** All of them. */
  readonly places: readonly Place[];
  /** The path of its Secret in the outbox. */
  readonly entry: string;
  /** Changes its data. */
  readonly change: (password: string) => Promise<void>;
  /** Names no cluster any more. */
  readonly withdraw: () => Promise<void>;
  /** Waits until the outbox has nothing of it. */
  readonly becomesForgotten: () => Promise<void>;
  /** Makes another one with copies in the same namespaces. */
  readonly another: () => Promise<SharedWithEast>;
}

/** Makes one with this number of copies, and waits until they have the data. */
export async function shareWithEast(fixture: AgentFixture, targets = 1): Promise<SharedWithEast> {
  const project = unique("project");
  const namespaces: string[] = [];
  for (let number = 0; number < targets; number += 1)
    namespaces.push(await makeTarget(fixture.east, project));
  return share(fixture, project, namespaces);
}

async function share(
  fixture: AgentFixture,
  project: string,
  namespaces: readonly string[],
): Promise<SharedWithEast> {
  const { central } = fixture;
  const [namespace, name] = [unique("team"), unique("db")];
  await central.arrange(postNamespace(namespace));
  const collection = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
  const marks = { [annotations.syncToProjects]: project, [annotations.syncToClusters]: "east" };
  const spec = { data: { password: base64("canary") } };
  const metadata = { name, annotations: marks };
  await central.arrange(post(collection, { apiVersion, kind: "SharedSecret", metadata, spec }));
  const places = namespaces.map((target) => ({ namespace: target, name }));
  for (const place of places) await fixture.arrives(place, { password: "canary" });
  const path = `${collection}/${name}`;
  const outbox = outboxNamespace("east");
  const entry = secretPath({ namespace: outbox, name: outboxName({ namespace, name }) });
  const patch = async (body: object): Promise<void> =>
    void (await central.arrange(mergePatch(path, body)));
  return {
    path,
    entry,
    places,
    place: places[0] ?? { namespace: "", name },
    change: (password) => patch({ spec: { data: { password: base64(password) } } }),
    withdraw: () => patch({ metadata: { annotations: { [annotations.syncToClusters]: null } } }),
    becomesForgotten: async () => {
      const isGone = async () => (await central.ask({}, get(entry))).code === 404;
      await eventually(isGone, { what: `the end of the entry of ${name}`, within: 60_000 });
    },
    another: () => share(fixture, project, namespaces),
  };
}
