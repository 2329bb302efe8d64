import type { ObjectRef } from "../../api/object.ts";
import { recordAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { outboxEntryOf } from "../../domain/outbox/outbox-entry.ts";
import { outboxName, outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import { marksAsRead, marksAsWritten } from "../../domain/outbox/swapped-marks.ts";
import type { Client } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/kube-error.ts";

/** The clients of both clusters, and the name of the connected one. */
interface ClientPair {
  readonly local: Client;
  readonly central: Pick<Client, "get">;
  readonly cluster: string;
}

/**
 * A client of a connected cluster, with the marks of Secrets as its agent has them; SharedSecrets
 * are read from the outbox, and never written.
 */
export function translatedClient({ local, central, cluster }: ClientPair): Client {
  const inward = (resource: Resource, raw: unknown): unknown =>
    resource === resources.secrets ? marksAsRead(raw, cluster) : raw;
  const outward = <T extends Marked>(resource: Resource, body: T): T =>
    resource === resources.secrets ? writtenBody(body, cluster) : body;
  return {
    async get(resource, ref) {
      if (resource === resources.sharedSecrets) return readSource(ref, { central, cluster });
      return inward(resource, await local.get(resource, ref));
    },
    async getMetadata(resource, ref) {
      if (resource === resources.sharedSecrets) return readSource(ref, { central, cluster });
      return inward(resource, await local.getMetadata(resource, ref));
    },
    async create(resource, object, options) {
      refuseSource(resource);
      return inward(resource, await local.create(resource, outward(resource, object), options));
    },
    review: (resource, spec) => local.review(resource, spec),
    async replace(resource, object) {
      refuseSource(resource);
      return inward(resource, await local.replace(resource, outward(resource, object)));
    },
    async patch(resource, ref, { body, ...patch }) {
      refuseSource(resource);
      const sent = { ...patch, body: outward(resource, body) };
      return inward(resource, await local.patch(resource, ref, sent));
    },
    async delete(resource, ref, preconditions) {
      refuseSource(resource);
      return inward(resource, await local.delete(resource, ref, preconditions));
    },
  };
}

/** Reads a source from the outbox; an entry that is none does not exist. */
async function readSource(
  ref: ObjectRef,
  { central, cluster }: Pick<ClientPair, "central" | "cluster">,
): Promise<unknown> {
  const [namespace, name] = [outboxNamespace(cluster), outboxName(ref)];
  const entry = outboxEntryOf(await central.get(resources.secrets, { namespace, name }));
  if (entry !== undefined) return entry;
  throw new KubeError(`Secret ${namespace}/${name} is no entry of an outbox`, {
    code: "NotFound",
    status: 404,
  });
}

/** There may be a Latchkey in the cluster, whose SharedSecrets are not the agent's. */
function refuseSource(resource: Resource): void {
  if (resource === resources.sharedSecrets) throw new TypeError("an agent writes no SharedSecrets");
}

type Marked = { readonly metadata: object };

function writtenBody<T extends Marked>(body: T, cluster: string): T {
  const { metadata } = body;
  const swapped = recordAt(marksAsWritten({ metadata }, cluster), "metadata");
  const marks = (["labels", "annotations"] as const).flatMap((field) =>
    field in metadata ? [[field, recordAt(swapped, field)] as const] : [],
  );
  return { ...body, metadata: { ...metadata, ...Object.fromEntries(marks) } };
}
