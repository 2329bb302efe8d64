import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { Logger } from "../runtime/log.ts";

/** Dependencies of {@link KeptSecret}. */
export interface KeptSecretDeps {
  readonly client: Pick<Client, "get" | "patch">;
  readonly log: Pick<Logger, "warn">;
}

/** Data keys to set, in base64; null removes one. */
type KeptData = Readonly<Record<string, string | null>>;

/** Several replicas write the Secret, and each of them keeps two things in it. */
const mostTries = 5;

/** The namespace and the name of a Secret. */
interface KeptSecretRef {
  readonly namespace: string;
  readonly name: string;
}

/** The Secret in which a process keeps what it needs to start without its issuer. */
export class KeptSecret {
  readonly #deps: KeptSecretDeps;
  readonly #ref: KeptSecretRef;

  constructor(deps: KeptSecretDeps, { namespace, name }: KeptSecretRef) {
    this.#deps = deps;
    this.#ref = { namespace, name };
  }

  /** The name of the Secret. */
  get name(): string {
    return this.#ref.name;
  }

  /** Reads the Secret; undefined if it cannot be read. */
  async read(): Promise<unknown> {
    try {
      return await this.#deps.client.get(resources.secrets, this.#ref);
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.#deps.log.warn(
        { secret: this.#ref.name, code: error.code },
        "the Secret of the kept keys cannot be read; a restart needs the issuer",
      );
      return undefined;
    }
  }

  /**
   * Changes data of the Secret; `dataFor` gets the Secret as it is, and returns undefined if it has
   * everything. After a conflict, it is asked again. Returns whether the Secret has everything.
   */
  async update(dataFor: (raw: unknown) => KeptData | undefined): Promise<boolean> {
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

  async #write(raw: unknown, data: KeptData): Promise<"written" | "conflict" | "failed"> {
    const { uid, resourceVersion } = parseMetadata(raw);
    try {
      const body = { metadata: { uid, resourceVersion }, data };
      await this.#deps.client.patch(resources.secrets, this.#ref, { body });
      return "written";
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (error.code === "Conflict") return "conflict";
      this.#deps.log.warn(
        { secret: this.#ref.name, code: error.code },
        "the Secret of the kept keys cannot be written; a restart needs the issuer",
      );
      return "failed";
    }
  }
}
