import { labels } from "../../api/names.ts";
import { type Key, keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { parseLatchkeyMetadata, recordAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { copiedSource, type Source, type TargetSecret } from "../../domain/sync/copy.ts";
import { isObservedWhole, placeholderRequestOf } from "../../domain/sync/placeholder.ts";
import {
  type Target,
  type NamespaceOptions,
  readNamespace,
  targetIn,
} from "../../domain/sync/obstacles.ts";
import { targetsOf } from "../../domain/sync/observed-target.ts";
import { type SyncSnapshot, syncObjectsOf } from "../../domain/sync/sync-objects.ts";
import type { ListOptions } from "../../kube/informer/list-options.ts";
import { createDataDigest, type DataDigest } from "../../tokens/data-digest.ts";
import { observedCopy, observedSource } from "../../tokens/observed-data.ts";
import type { Cluster } from "../connection/cluster.ts";
import { readEach, readableNames } from "../objects/listing.ts";
import { followed } from "../secrets/followed.ts";
import {
  distinctRights,
  type MissingRight,
  type Readable,
  readObject,
  readWith,
} from "../missing-right.ts";

/** Which live objects are read. */
export interface WantedSync extends NamespaceOptions {
  /**
   * The Secrets: those of one name, which is one object if `namespace` is set, or without a name
   * all copies and all Secrets that have the name of one.
   */
  readonly secrets: { readonly name?: string; readonly namespace?: string };
  /** Namespaces in which SharedSecrets are looked for if the user may not list all. */
  readonly namespaces: readonly string[];
  /** Objects that may be added or changed: the Secrets at their targets are read, too. */
  readonly planned?: Omit<SyncSnapshot, "secrets">;
  /** Digests that compare with those of {@link WantedSync.planned}. */
  readonly digestOf?: DataDigest;
}

/** Live objects, and the rights without which others could not be read. */
export interface LiveSync {
  readonly snapshot: SyncSnapshot;
  readonly missing: readonly MissingRight[];
}

/**
 * Reads the objects that decide which copies exist, as far as the user may. The data of
 * SharedSecrets and copies is replaced by digests that compare with each other; other Secrets are
 * read as metadata.
 */
export async function readSyncObjects(cluster: Cluster, wanted: WantedSync): Promise<LiveSync> {
  const reader = new SyncReader(cluster, wanted);
  const namespaces = await reader.namespaces();
  const listed = await reader.secrets();
  const sources = await reader.sources(listed.found);
  const objects = { sharedSecrets: sources.found, namespaces: namespaces.found };
  const secrets = listed.missing.length === 0 ? listed : await reader.secretsAtTargets(objects);
  const missing = [namespaces, listed, sources, secrets].flatMap((part) => part.missing);
  const relevant =
    wanted.secrets.name === undefined
      ? secrets.found.filter(concerns([...sources.found, ...(wanted.planned?.sharedSecrets ?? [])]))
      : secrets.found;
  return { snapshot: { ...objects, secrets: relevant }, missing: distinctRights(missing) };
}

/** Whether a Secret is a copy, or has the name of one. */
function concerns(sources: readonly Source[]): (secret: TargetSecret) => boolean {
  const names = new Set(sources.map((source) => targetIn("", source).name));
  return ({ metadata }) =>
    isObservedWhole(metadata) || copiedSource(metadata) !== undefined || names.has(metadata.name);
}

const { secrets: secretResource, sharedSecrets, namespaces: namespaceResource } = resources;

class SyncReader {
  readonly #cluster: Cluster;
  readonly #wanted: WantedSync;
  readonly #digestOf: DataDigest;

  constructor(cluster: Cluster, wanted: WantedSync) {
    this.#cluster = cluster;
    this.#wanted = wanted;
    this.#digestOf = wanted.digestOf ?? createDataDigest();
  }

  /** All Namespaces, or those of {@link WantedSync} that the user may read. */
  async namespaces(): Promise<Readable<readonly Metadata[]>> {
    const { namespaces } = this.#wanted;
    const { namespace } = this.#wanted.secrets;
    const parse = (raw: unknown): Metadata =>
      readNamespace(parseLatchkeyMetadata(raw), this.#wanted);
    const listed =
      namespace === undefined
        ? await this.#list({ resource: namespaceResource, metadataOnly: true })
        : undefined;
    if (listed?.missing.length === 0) return { found: listed.found.map(parse), missing: [] };
    const names = namespace === undefined ? namespaces : [namespace];
    const single = await this.#each(names, (name) =>
      readObject(namespaceResource, { name }, this.#cluster.getMetadata),
    );
    return {
      found: single.found.map(parse),
      missing: [...(listed?.missing ?? []), ...single.missing],
    };
  }

  /** The Secret of one name and namespace, or a list. */
  async secrets(): Promise<Readable<readonly TargetSecret[]>> {
    const { namespace, name } = this.#wanted.secrets;
    if (name === undefined) return this.#listSecrets({});
    if (namespace === undefined)
      return this.#listSecrets({ fieldSelector: `metadata.name=${name}` });
    return this.#secretsAt([{ namespace, name }]);
  }

  /**
   * All SharedSecrets; if the user may not list them, those that roles name, and those that the
   * Secrets say they are copies of.
   */
  async sources(secrets: readonly TargetSecret[]): Promise<Readable<readonly Source[]>> {
    const listed = await this.#list({ resource: sharedSecrets });
    if (listed.missing.length === 0) return this.#followed(listed.found);
    const refs = new Map<Key, ObjectRef>();
    for (const namespace of new Set(this.#wanted.namespaces)) {
      const { names } = await readableNames(this.#cluster, sharedSecrets, namespace);
      for (const name of names) refs.set(keyOf({ namespace, name }), { namespace, name });
    }
    for (const { metadata } of secrets) {
      const claimed = copiedSource(metadata);
      if (claimed !== undefined) refs.set(keyOf(claimed), claimed);
      const requested = placeholderRequestOf(metadata)?.source;
      if (requested !== undefined) refs.set(keyOf(requested), requested);
    }
    const single = await this.#each([...refs.values()], (ref) =>
      readObject(sharedSecrets, ref, this.#cluster.get),
    );
    const { found, missing } = await this.#followed(single.found);
    return { found, missing: [...listed.missing, ...single.missing, ...missing] };
  }

  /** SharedSecrets with the data of the Secrets that they follow, if the user may read it. */
  async #followed(raw: readonly unknown[]): Promise<Readable<readonly Source[]>> {
    const sources = raw.map((object) => observedSource(object, this.#digestOf));
    const deps = { cluster: this.#cluster, digestOf: this.#digestOf };
    const read = await readEach(sources, (source) => followed(source, deps));
    const missing = read.flatMap((one) => one.missing);
    return { found: read.map(({ found }) => found), missing };
  }

  /** The Secrets at the targets of sources, for a user who may not list Secrets. */
  async secretsAtTargets(
    objects: Omit<SyncSnapshot, "secrets">,
  ): Promise<Readable<readonly TargetSecret[]>> {
    const { name, namespace } = this.#wanted.secrets;
    if (namespace !== undefined) return { found: [], missing: [] };
    const { sharedSecrets: sources = [], namespaces = [] } = this.#wanted.planned ?? {};
    const all = {
      sharedSecrets: [...objects.sharedSecrets, ...sources],
      namespaces: [...objects.namespaces, ...namespaces],
    };
    // Before and after the plan: an added object may hide the one that it replaces.
    const targets = [objects, all].flatMap((some) => {
      const known = syncObjectsOf({ ...some, secrets: [] });
      return some.sharedSecrets.flatMap((source) => targetsOf(source, known));
    });
    const wanted = targets.filter((target) => name === undefined || target.name === name);
    return this.#secretsAt([...new Map(wanted.map((ref) => [keyOf(ref), ref])).values()]);
  }

  /** Copies and placeholders with a digest of their data, and other Secrets as metadata. */
  async #listSecrets(
    selection: Pick<ListOptions, "fieldSelector">,
  ): Promise<Readable<readonly TargetSecret[]>> {
    const resource = secretResource;
    const [copy, placeholder] = [labels.sourceUid, labels.sharedSecretName];
    const found: unknown[] = [];
    for (const part of [
      { labelSelector: copy },
      { labelSelector: `${placeholder},!${copy}` },
      { labelSelector: `!${copy},!${placeholder}`, metadataOnly: true },
    ]) {
      const listed = await this.#list({ resource, ...selection, ...part });
      if (listed.missing.length > 0) return { found: [], missing: listed.missing };
      found.push(...listed.found);
    }
    return { found: found.map((raw) => readTargetSecret(raw, this.#digestOf)), missing: [] };
  }

  async #secretsAt(targets: readonly Target[]): Promise<Readable<readonly TargetSecret[]>> {
    const { found, missing } = await this.#each(targets, (ref) =>
      readObject(secretResource, ref, async () => {
        const metadata = await this.#cluster.getMetadata(secretResource, ref);
        return isWhole(metadata) ? this.#cluster.get(secretResource, ref) : metadata;
      }),
    );
    return { found: found.map((raw) => readTargetSecret(raw, this.#digestOf)), missing };
  }

  #list(options: ListOptions): Promise<Readable<readonly unknown[]>> {
    const { resource } = options;
    return readWith({ verb: "list", resource }, () => this.#cluster.select(options), []);
  }

  async #each<T>(
    items: readonly T[],
    read: (item: T) => Promise<Readable<unknown>>,
  ): Promise<Readable<readonly unknown[]>> {
    const results = await readEach(items, read);
    return {
      found: results.flatMap(({ found }) => (found === undefined ? [] : [found])),
      missing: results.flatMap(({ missing }) => missing),
    };
  }
}

/** Parses a Secret as the controller stores it. */
export function readTargetSecret(raw: unknown, digestOf: DataDigest): TargetSecret {
  return isWhole(raw) ? observedCopy(raw, digestOf) : { metadata: parseLatchkeyMetadata(raw) };
}

function isWhole(raw: unknown): boolean {
  return isObservedWhole({ labels: stringMapAt(recordAt(raw, "metadata"), "labels") });
}
