import { annotations, apiVersion } from "../../src/api/names.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import { type AgentFixture, makeTarget, type Place, secretPath } from "./agent-fixture.ts";
import { mergePatch, post } from "./cluster-connection.ts";
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
}

/** Makes one with this number of copies, and waits until they have the data. */
export async function shareWithEast(fixture: AgentFixture, targets = 1): Promise<SharedWithEast> {
  const { central, east } = fixture;
  const [namespace, name, project] = [unique("team"), unique("db"), unique("project")];
  await central.arrange(postNamespace(namespace));
  const places: Place[] = [];
  for (let number = 0; number < targets; number += 1)
    places.push({ namespace: await makeTarget(east, project), name });
  const collection = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;
  const marks = { [annotations.syncToProjects]: project, [annotations.syncToClusters]: "east" };
  const spec = { data: { password: base64("canary") } };
  const metadata = { name, annotations: marks };
  await central.arrange(post(collection, { apiVersion, kind: "SharedSecret", metadata, spec }));
  for (const place of places) await fixture.arrives(place, { password: "canary" });
  const path = `${collection}/${name}`;
  const outbox = outboxNamespace("east");
  const patch = async (body: object): Promise<void> =>
    void (await central.arrange(mergePatch(path, body)));
  return {
    ...{ path, places, place: places[0] ?? { namespace: "", name } },
    entry: secretPath({ namespace: outbox, name: outboxName({ namespace, name }) }),
    change: (password) => patch({ spec: { data: { password: base64(password) } } }),
    withdraw: () => patch({ metadata: { annotations: { [annotations.syncToClusters]: null } } }),
  };
}
