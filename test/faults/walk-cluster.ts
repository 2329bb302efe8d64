import { setTimeout as pause } from "node:timers/promises";
import {
  admin,
  type Answer,
  type Ask,
  type Caller,
  patchTypes,
} from "../support/cluster-connection.ts";
import type { Stage } from "./walk.ts";
import {
  changesTo,
  firstNamespaces,
  type NamespaceAction,
  namespaceMetadata,
  platformPolicy,
} from "./walk-namespaces.ts";

/** An object that is created, or replaced as a whole. */
export interface Put {
  readonly collection: string;
  readonly object: { readonly metadata: { readonly name: string } };
  readonly keepsFinalizers?: boolean;
  /** Who creates it, and who replaces it; the administrator by default. */
  readonly creator?: Caller;
  readonly editor?: Caller;
}

/**
 * The cluster as users of one run see it. Names of the run begin with `the-` in what is written and
 * read.
 */
export class WalkCluster {
  readonly #stage: Stage;
  namespaces = firstNamespaces;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async createNamespaces(): Promise<void> {
    for (const [plural, body] of Object.entries(platformPolicy))
      await this.perform({ method: "POST", path: `/apis/${body.apiVersion}/${plural}`, body }, [
        ...[201, 409],
      ]);
    for (const { name, wants } of changesTo(this.namespaces)) {
      const metadata = { name: `the-${name}`, ...withoutNulls(namespaceMetadata(wants)) };
      await this.perform({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    }
  }

  async changeNamespace({ name, wants }: NamespaceAction): Promise<void> {
    this.namespaces = { ...this.namespaces, [name]: wants };
    const path = `/api/v1/namespaces/the-${name}`;
    const body = { metadata: namespaceMetadata(wants) };
    await this.perform({ method: "PATCH", path, type: patchTypes.merge, body });
  }

  /** Sends a request; a run waits until its controller has received what was written. */
  async ask(request: Ask, by: Caller = admin): Promise<Answer> {
    const answer = await this.#stage.worker.cluster.ask(by, this.#real(request));
    if (request.method !== "GET")
      await this.perform({ method: "GET", path: request.path }, [200, 404]);
    return this.#unreal(answer);
  }

  /** Repeats a request as the administrator until its response is as expected. */
  async perform(request: Ask, until: readonly number[] = [200, 201]): Promise<void> {
    await this.#stage.run.perform([{ ...this.#real(request), by: admin, until }]);
  }

  /** Reads an object or a list; throws if there is none. */
  async read(path: string): Promise<Answer> {
    const request = this.#real({ method: "GET" as const, path });
    return this.#unreal(await this.#stage.worker.cluster.arrange(request));
  }

  /** The object at a path, if it exists. */
  async find(path: string): Promise<Answer | undefined> {
    const answer = await this.ask({ method: "GET", path });
    return answer.code === 404 ? undefined : answer;
  }

  merge(path: string, body: unknown): Promise<Answer> {
    return withoutConflict(path, () =>
      this.ask({ method: "PATCH", path, type: patchTypes.merge, body }),
    );
  }

  /** Deletes an object; by force, without waiting for its finalizers. */
  async remove(path: string, { byForce = false } = {}): Promise<Answer> {
    if (byForce) await this.merge(path, { metadata: { finalizers: null } });
    return this.ask({ method: "DELETE", path });
  }

  /** Creates an object, or replaces it; waits until one that is being deleted is gone. */
  put({ collection, object, keepsFinalizers = true, creator, editor }: Put): Promise<Answer> {
    const path = `${collection}/${object.metadata.name}`;
    return withoutConflict(path, async () => {
      const metadata = (await this.find(path))?.metadata;
      if (metadata?.deletionTimestamp !== undefined)
        await this.perform({ method: "GET", path }, [404]);
      if (metadata === undefined || metadata.deletionTimestamp !== undefined)
        return this.ask({ method: "POST", path: collection, body: object }, creator);
      const { resourceVersion, finalizers } = metadata;
      const kept = { resourceVersion, ...(keepsFinalizers ? { finalizers } : {}) };
      const body = { ...object, metadata: { ...object.metadata, ...kept } };
      const answer = await this.ask({ method: "PUT", path, body }, editor);
      return answer.code === 404 ? undefined : answer;
    });
  }

  #real<T>(value: T): T {
    return JSON.parse(JSON.stringify(value).replaceAll("the-", this.#stage.view.prefix));
  }

  #unreal<T>(value: T): T {
    return JSON.parse(JSON.stringify(value).replaceAll(this.#stage.view.prefix, "the-"));
  }
}

/** The answer to a write that is repeated while it conflicts with another one, or has none. */
async function withoutConflict(
  path: string,
  write: () => Promise<Answer | undefined>,
): Promise<Answer> {
  for (let tries = 0; tries < 50; tries += 1) {
    const answer = await write();
    if (answer !== undefined && answer.code !== 409) return answer;
    await pause(5);
  }
  throw new Error(`${path} can neither be created nor changed`);
}

/** Whether the API server has accepted a write; throws if it has neither accepted nor rejected it. */
export function isAccepted({ code, message }: Answer): boolean {
  if (code < 300) return true;
  if ([400, 403, 404, 413, 422].includes(code) || message.includes("too large")) return false;
  throw new Error(`the API server neither takes nor refuses what is written: ${code}`);
}

/** Without the entries that are null, at any depth. */
function withoutNulls(value: object): object {
  return JSON.parse(
    JSON.stringify(value, (_, inner: unknown) => (inner === null ? undefined : inner)),
  );
}
