import { ownObjects } from "../api/names.ts";
import { parseMetadata } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Logger } from "../runtime/log.ts";

/** Dependencies of {@link KeptSecret}. */
export interface KeptSecretDeps {
  readonly client: Pick<Client, "get" | "patch">;
  readonly log: Pick<Logger, "warn">;
}

/** How a write ended; after a conflict, the Secret has to be read again. */
export type KeepResult = "kept" | "conflict" | "failed";

/** The Secret in which a direct endpoint keeps what it needs to start without its issuer. */
export class KeptSecret {
  readonly #deps: KeptSecretDeps;
  readonly #ref: { readonly namespace: string; readonly name: string };

  constructor(deps: KeptSecretDeps, { namespace }: { readonly namespace: string }) {
    this.#deps = deps;
    this.#ref = { namespace, name: ownObjects.directKeys };
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

  /** Changes data of the Secret as it was read; null removes a data key. */
  async write(raw: unknown, data: Readonly<Record<string, string | null>>): Promise<KeepResult> {
    const { uid, resourceVersion } = parseMetadata(raw);
    try {
      const body = { metadata: { uid, resourceVersion }, data };
      await this.#deps.client.patch(resources.secrets, this.#ref, { body });
      return "kept";
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
