import { webhookConfigurations } from "../api/names.ts";
import type { Key, Manifest } from "../api/object.ts";
import { isRecord, listAt, parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { apiVersionOf, resources } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import { admissionPath } from "../domain/webhook/webhook-paths.ts";
import type { Client } from "../kube/client/client.ts";
import { ObjectController, type ObjectControllerDeps } from "../kube/object-controller.ts";
import { PacedWrites } from "./paced-writes.ts";

/** Dependencies of a {@link CaBundleInjector}. */
interface CaBundleInjectorDeps extends ObjectControllerDeps {
  readonly client: Pick<Client, "replace">;
}

/** The values that are injected into the configurations. */
interface InjectedConfiguration {
  /** Certificates in PEM. */
  readonly ca: string;
  /** The first path segment of the admission routes. */
  readonly segment: string;
}

type Json = Readonly<Record<string, unknown>>;

const resource = resources.mutatingWebhookConfigurations;

/**
 * Keeps the CA bundle and the admission path in Latchkey's MutatingWebhookConfigurations up to
 * date; one that does not exist is skipped.
 */
export class CaBundleInjector {
  readonly #client: CaBundleInjectorDeps["client"];
  readonly #configurations: ObjectController<Json>;
  readonly #paced: PacedWrites;
  #wanted: InjectedConfiguration | undefined;

  constructor(deps: CaBundleInjectorDeps) {
    this.#client = deps.client;
    this.#paced = new PacedWrites(deps);
    this.#configurations = new ObjectController<Json>(deps, {
      name: "webhookconfiguration",
      resource,
      objects: new Map(webhookConfigurations.map((name) => [name, { name }])),
      parse: (raw) => (isRecord(raw) ? raw : undefined),
      reconcile: (name) => this.#reconcile(name),
    });
  }

  /** Watches and changes the configurations until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#configurations.run(signal);
  }

  /** Sets the CA and the admission path of the configurations. */
  publish(wanted: InjectedConfiguration): void {
    this.#wanted = wanted;
    for (const name of webhookConfigurations) this.#configurations.enqueue(name);
  }

  /** The CA bundles (PEM) of the configurations; undefined until all configurations are listed. */
  bundles(): readonly string[] | undefined {
    return this.#configurations.all()?.flatMap(bundlesIn);
  }

  async #reconcile(name: Key): Promise<Result> {
    const [existing, wanted] = [this.#configurations.get(name), this.#wanted];
    const manifest = existing && wanted && withPublished(existing, wanted);
    if (manifest === undefined) return { kind: "done" };
    const intent = `${wanted?.segment} ${wanted?.ca}`;
    const waits = await this.#paced.write(`${resource.kind} ${name}`, intent, async () =>
      this.#configurations.observe(name, await this.#client.replace(resource, manifest)),
    );
    return waits ?? { kind: "done" };
  }
}

function bundlesIn(configuration: Json): readonly string[] {
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
  existing: Json,
  { ca, segment }: InjectedConfiguration,
): Manifest | undefined {
  const caBundle = Buffer.from(ca, "utf8").toString("base64");
  const webhooks = listAt(existing, "webhooks").filter(isRecord);
  const pathOf = (webhook: Json): string => admissionPath(segment, stringAt(webhook, "name") ?? "");
  const isPublished = (webhook: Json): boolean => {
    const { caBundle: trusted, service } = recordAt(webhook, "clientConfig");
    return trusted === caBundle && (!isRecord(service) || service["path"] === pathOf(webhook));
  };
  if (webhooks.every(isPublished)) return undefined;
  const published = (webhook: Json): Json => {
    const { service, ...clientConfig } = recordAt(webhook, "clientConfig");
    const path = isRecord(service) ? { service: { ...service, path: pathOf(webhook) } } : {};
    return { ...webhook, clientConfig: { ...clientConfig, ...path, caBundle } };
  };
  const { name, uid, resourceVersion } = parseMetadata(existing);
  return {
    ...existing,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...recordAt(existing, "metadata"), name, uid, resourceVersion },
    webhooks: webhooks.map(published),
  };
}
