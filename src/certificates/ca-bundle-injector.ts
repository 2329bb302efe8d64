import type { Result } from "../api/result.ts";
import { webhookConfigurations } from "../api/names.ts";
import { type Key, keyOf, type Manifest } from "../api/object.ts";
import { isRecord, listAt, parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { apiVersionOf, resources } from "../api/resources.ts";
import { admissionPath } from "../domain/webhook/webhook-paths.ts";
import type { Client } from "../kube/client/client.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { InformerDeps } from "../kube/informer/informer-deps.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { WorkQueue } from "../kube/queue/work-queue.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** Dependencies of {@link createCaBundleInjector}. */
export interface CaBundleInjectorDeps extends InformerDeps {
  readonly client: Pick<Client, "replace">;
  readonly metrics: Pick<Metrics, "controller" | "queue">;
}

/**
 * Keeps the CA bundle and the admission path in Latchkey's MutatingWebhookConfigurations up to
 * date.
 */
interface CaBundleInjector {
  run(signal: AbortSignal): Promise<void>;
  /** Sets the CA and the admission path of the configurations. */
  publish(wanted: InjectedConfiguration): void;
  /** The CA bundles (PEM) of the configurations; undefined until all configurations are listed. */
  bundles(): readonly string[] | undefined;
}

/** The values that are injected into the configurations. */
interface InjectedConfiguration {
  /** Certificates in PEM. */
  readonly ca: string;
  /** The first path segment of the admission routes. */
  readonly segment: string;
}

const name = "webhookconfiguration";
const resource = resources.mutatingWebhookConfigurations;

/** Creates the injector for Latchkey's configurations; one that does not exist is skipped. */
export function createCaBundleInjector(deps: CaBundleInjectorDeps): CaBundleInjector {
  const { clock, random, yielder, log, metrics, client } = deps;
  const queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
  let wanted: InjectedConfiguration | undefined;
  const follow = (configuration: string): Informer<Readonly<Record<string, unknown>>> =>
    new Informer<Readonly<Record<string, unknown>>>(
      {
        listOptions: { resource, fieldSelector: `metadata.name=${configuration}` },
        parse: (raw) => (isRecord(raw) ? raw : undefined),
        onChange: () => queue.add(configuration, "high"),
      },
      deps,
    );
  const informers = new Map(
    webhookConfigurations.map((configuration) => [configuration, follow(configuration)]),
  );

  async function reconcile(configuration: Key): Promise<Result> {
    const informer = informers.get(configuration);
    const existing = informer?.store.get(keyOf({ name: configuration }));
    const manifest =
      existing === undefined || wanted === undefined ? undefined : withPublished(existing, wanted);
    if (manifest !== undefined) informer?.observe(await client.replace(resource, manifest));
    return { kind: "done" };
  }

  return {
    run: async (signal) =>
      void (await Promise.all([
        ...[...informers.values()].map((informer) => informer.run(signal)),
        runLoop({
          name,
          queue,
          reconcile,
          workers: 1,
          signal,
          clock,
          yielder,
          log,
          metrics: metrics.controller(name, 1),
        }),
      ])),
    publish(published) {
      wanted = published;
      for (const configuration of webhookConfigurations) queue.add(configuration, "high");
    },
    bundles() {
      const all = [...informers.values()];
      return all.every(({ isSynced }) => isSynced)
        ? all.flatMap(({ store }) => [...store.values()].flatMap(bundlesIn))
        : undefined;
    },
  };
}

function bundlesIn(configuration: Readonly<Record<string, unknown>>): readonly string[] {
  const bundles = listAt(configuration, "webhooks").map(
    (webhook) => stringAt(recordAt(webhook, "clientConfig"), "caBundle") ?? "",
  );
  return [...new Set(bundles)]
    .filter((bundle) => bundle !== "")
    .map((bundle) => Buffer.from(bundle, "base64").toString("utf8"));
}

/**
 * The configuration with these values in each of its webhooks; undefined if it already has them. A
 * URL that an administrator has set is kept.
 */
function withPublished(
  existing: Readonly<Record<string, unknown>>,
  { ca, segment }: InjectedConfiguration,
): Manifest | undefined {
  const caBundle = Buffer.from(ca, "utf8").toString("base64");
  const webhooks = listAt(existing, "webhooks").filter(isRecord);
  const pathOf = (webhook: unknown): string =>
    admissionPath(segment, stringAt(webhook, "name") ?? "");
  const isPublished = (webhook: unknown): boolean => {
    const { caBundle: trusted, service } = recordAt(webhook, "clientConfig");
    return trusted === caBundle && (!isRecord(service) || service["path"] === pathOf(webhook));
  };
  if (webhooks.every(isPublished)) return undefined;
  const { name: existingName, uid, resourceVersion } = parseMetadata(existing);
  const published = (
    webhook: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> => {
    const { service, ...clientConfig } = recordAt(webhook, "clientConfig");
    return {
      ...webhook,
      clientConfig: {
        ...clientConfig,
        ...(isRecord(service) ? { service: { ...service, path: pathOf(webhook) } } : {}),
        caBundle,
      },
    };
  };
  return {
    ...existing,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...recordAt(existing, "metadata"), name: existingName, uid, resourceVersion },
    webhooks: webhooks.map(published),
  };
}
