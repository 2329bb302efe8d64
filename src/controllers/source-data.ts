import { resources } from "../api/resources.ts";
import {
  parseSharedSecret,
  type SecretData,
  type SharedSecretWithData,
} from "../api/shared-secret.ts";
import type { DataVariant, Source } from "../domain/sync/copy.ts";
import { followedData } from "../domain/sync/source-secret.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { DataDigest } from "../tokens/data-digest.ts";
import { copiedData } from "../tokens/observed-data.ts";
import { type Answers, answerTo, type Ask } from "./question.ts";
import { readSource } from "./read-source.ts";

/** Dependencies of {@link SourceData}. */
interface SourceDataDeps {
  readonly client: Pick<Client, "get">;
  /** The digest function for the data in the stores. */
  readonly digestOf: DataDigest;
  /** Latchkey's own namespace. */
  readonly namespace: string;
}

/** The data of a source in a variant, if it is in memory. */
function cachedData(source: Source, variant: DataVariant): SecretData | undefined {
  return variant === "copied" || source.ownDigest === source.digest ? source.data : undefined;
}

/** The data for a write; `isChanged` if the SharedSecret has other data by now. */
interface DataToWrite {
  readonly data?: SecretData;
  readonly isChanged: boolean;
}

/** The data of a source for a write: from memory, or as the API server answered. */
export function dataToWrite(
  source: Source,
  variant: DataVariant,
  answers: Answers,
): DataToWrite | Ask {
  const cached = cachedData(source, variant);
  if (cached !== undefined) return { data: cached, isChanged: false };
  const read = { do: "read-data", source, variant } as const;
  const answer = answerTo(read, answers);
  if (answer === undefined) return { questions: [read] };
  const { data } = answer;
  return data === undefined ? { isChanged: true } : { data, isChanged: false };
}

/** Maximum characters of cached values. */
const mostRemembered = 16 * 1024 * 1024;

/**
 * Reads the data of copies that is too large for the stores from the API server when copies are
 * written: once for all targets of a fan-out. Caches the last values that were used, up to 16
 * MB.
 */
export class SourceData {
  readonly #deps: SourceDataDeps;
  readonly #mostRemembered: number;
  readonly #reading = new Map<string, Promise<SecretData | undefined>>();
  /** Least recently used first. */
  readonly #remembered = new Map<string, { readonly data: SecretData; readonly size: number }>();
  #size = 0;

  constructor(deps: SourceDataDeps, most = mostRemembered) {
    this.#deps = deps;
    this.#mostRemembered = most;
  }

  /**
   * Returns the data of `source` in a variant, with the digest that it has there; undefined if the
   * SharedSecret now has other data, or is gone.
   */
  async of(source: Source, variant: DataVariant): Promise<SecretData | undefined> {
    const cached = cachedData(source, variant);
    if (cached !== undefined) return cached;
    const digest = variant === "own" ? source.ownDigest : source.digest;
    const key = dataKey(source.secret.metadata.uid, digest);
    const found = this.#remembered.get(key);
    if (found !== undefined) {
      this.#remembered.delete(key);
      this.#remembered.set(key, found);
      return found.data;
    }
    const pending = this.#reading.get(key);
    if (pending !== undefined) return pending;
    const reading = this.#read(source, { variant, digest }).finally(() =>
      this.#reading.delete(key),
    );
    this.#reading.set(key, reading);
    return reading;
  }

  async #read(
    source: Source,
    { variant, digest }: { readonly variant: DataVariant; readonly digest: string },
  ): Promise<SecretData | undefined> {
    const { uid } = source.secret.metadata;
    const current = await this.#current(source);
    if (current === undefined) return undefined;
    const copied =
      variant === "own" ? { kind: "data" as const, data: current.data } : copiedData(current);
    if (copied.kind === "refused") return undefined;
    const { data } = copied;
    const found = this.#deps.digestOf(data);
    // Newer data is cached, too: its watch event follows.
    this.#remember(dataKey(current.metadata.uid, found), data);
    return current.metadata.uid === uid && found === digest ? data : undefined;
  }

  /** The SharedSecret with its data, or with that of the Secret that it follows. */
  async #current({ secret, followed }: Source): Promise<SharedSecretWithData | undefined> {
    const { client, namespace } = this.#deps;
    if (followed !== undefined) {
      const { namespace: own = "" } = secret.metadata;
      const read = await readSource({ namespace: own, name: followed.name }, client);
      const found = followedData(secret, followed, read, namespace);
      if (found.kind !== "data") return undefined;
      return { ...secret, data: found.data, keys: Object.keys(found.data).length };
    }
    try {
      return parseSharedSecret(await client.get(resources.sharedSecrets, secret.metadata));
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      return undefined;
    }
  }

  #remember(key: string, data: SecretData): void {
    const size = Object.values(data).reduce((sum, value) => sum + value.length, 0);
    this.#size += size - (this.#remembered.get(key)?.size ?? 0);
    this.#remembered.set(key, { data, size });
    for (const [oldest, { size: its }] of this.#remembered) {
      if (this.#size <= this.#mostRemembered) return;
      this.#remembered.delete(oldest);
      this.#size -= its;
    }
  }
}

function dataKey(uid: string, digest: string): string {
  return `${uid} ${digest}`;
}
