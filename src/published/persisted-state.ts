import type { ObjectRef } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { Logger } from "../runtime/log.ts";

/** Dependencies of {@link PersistedState}. */
export interface PersistedStateDeps {
  readonly client: Pick<Client, "get" | "patch">;
  readonly log: Logger;
}

/** Data keys to set, in base64; null removes one. */
type StateData = Readonly<Record<string, string | null>>;

/** Several replicas write the Secret, and each of them persists three things in it. */
const mostTries = 5;

/**
 * The Secret in which a process persists what it needs to start without its issuer. It is read only
 * at the start and before a write, so it is not watched.
 */
export class PersistedState {
  readonly #deps: PersistedStateDeps;
  readonly #secret: ObjectRef;

  constructor(deps: PersistedStateDeps, secret: ObjectRef) {
    this.#deps = deps;
    this.#secret = secret;
  }

  /** The name of the Secret. */
  get name(): string {
    return this.#secret.name;
  }

  /** Reads the Secret; undefined if it cannot be read. */
  async read(): Promise<unknown> {
    try {
      return await this.#deps.client.get(resources.secrets, this.#secret);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.#warn(
        error.code,
        "the Secret of the kept keys cannot be read; a restart needs the issuer",
      );
      return undefined;
    }
  }

  /**
   * Changes data of the Secret; `dataFor` gets the Secret as it is, and returns undefined if it has
   * everything. After a conflict, it is asked again. Returns whether the Secret has everything.
   */
  async update(dataFor: (raw: unknown) => StateData | undefined): Promise<boolean> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const raw = await this.read();
      if (raw === undefined) return false;
      const data = dataFor(raw);
      if (data === undefined) return true;
      const result = await this.#write(raw, data);
      if (result !== "conflict") return result === "written";
    }
    return false;
  }

  async #write(raw: unknown, data: StateData): Promise<"written" | "conflict" | "failed"> {
    const { uid, resourceVersion } = parseMetadata(raw);
    try {
      const body = { metadata: { uid, resourceVersion }, data };
      await this.#deps.client.patch(resources.secrets, this.#secret, { body });
      return "written";
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (error.code === "Conflict") return "conflict";
      this.#warn(
        error.code,
        "the Secret of the kept keys cannot be written; a restart needs the issuer",
      );
      return "failed";
    }
  }

  #warn(code: string, message: string): void {
    this.#deps.log.warn({ kind: "Secret", object: this.#secret.name, code }, message);
  }
}
