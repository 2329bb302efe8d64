import { webhookConfigurations } from "../api/names.ts";
import { type Key, keyOf, type Manifest } from "../api/object.ts";
import { isRecord, listAt, parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { apiVersionOf, resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import { type Next, runLoop } from "../kube/loop.ts";
import { WorkQueue } from "../kube/queue.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** What publishing needs. */
export interface PublishedAuthorityDeps extends InformerDeps {
  readonly client: Pick<Client, "replace">;
  readonly metrics: Pick<Metrics, "controller" | "queue">;
}

/** Keeps the authority of the webhook's certificates in its MutatingWebhookConfigurations. */
export interface PublishedAuthority {
  run(signal: AbortSignal): Promise<void>;
  /** Certificates in PEM that kube-apiserver shall trust from now on. */
  publish(authority: string): void;
}

const name = "webhookconfiguration";
const resource = resources.mutatingWebhookConfigurations;

/** Follows Latchkey's configurations; one that is not there is not missed. */
export function createPublishedAuthority(deps: PublishedAuthorityDeps): PublishedAuthority {
  const { clock, random, turns, log, metrics, client } = deps;
  const queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
  let wanted: string | undefined;
  const follow = (configuration: string): Informer<Readonly<Record<string, unknown>>> =>
    new Informer<Readonly<Record<string, unknown>>>(
      {
        selection: { resource, fieldSelector: `metadata.name=${configuration}` },
        parse: (raw) => (isRecord(raw) ? raw : undefined),
        onChange: () => queue.add(configuration, "fresh"),
      },
      deps,
    );
  const informers = new Map(webhookConfigurations.map((configuration) => [configuration, follow(configuration)]));

  async function reconcile(configuration: Key): Promise<Next> {
    const informer = informers.get(configuration);
    const standing = informer?.store.get(keyOf({ name: configuration }));
    const manifest = standing === undefined || wanted === undefined ? undefined : withAuthority(standing, wanted);
    if (manifest !== undefined) informer?.observe(await client.replace(resource, manifest));
    return { kind: "wait-for-change" };
  }

  return {
    run: async (signal) => void (await Promise.all([...[...informers.values()].map((informer) => informer.run(signal)), runLoop({ name, queue, reconcile, workers: 1, signal, clock, turns, log, metrics: metrics.controller(name) })])),
    publish(authority) {
      wanted = Buffer.from(authority, "utf8").toString("base64");
      for (const configuration of webhookConfigurations) queue.add(configuration, "fresh");
    },
  };
}

/** The configuration with this authority (base64 of PEM) in each of its webhooks; undefined when it is there. */
function withAuthority(standing: Readonly<Record<string, unknown>>, caBundle: string): Manifest | undefined {
  const webhooks = listAt(standing, "webhooks").filter(isRecord);
  if (webhooks.every((webhook) => stringAt(recordAt(webhook, "clientConfig"), "caBundle") === caBundle)) return undefined;
  const { name: standingName, uid, resourceVersion } = parseMetadata(standing);
  return {
    ...standing,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...recordAt(standing, "metadata"), name: standingName, uid, resourceVersion },
    webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...recordAt(webhook, "clientConfig"), caBundle } })),
  };
}
