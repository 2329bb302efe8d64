import type { Manifest } from "../../src/api/object.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { Client } from "../../src/kube/client/client.ts";
import { KubeError, type KubeErrorCode } from "../../src/kube/client/kube-error.ts";

/** A fault of the next request: it fails before or after its effect, or has no response. */
export type Mishap = { readonly code: KubeErrorCode; readonly effect: "none" | "done" } | "silence";

/**
 * A fake of the API server with one Lease and its resourceVersion, limited to what leader election
 * uses.
 */
export class OneLease implements Pick<Client, "get" | "create" | "replace"> {
  #object: Manifest | undefined;
  #version = 0;
  /** The requests so far with the holder that they write, such as `replace a`. */
  readonly requests: string[] = [];
  /** Called before every request. */
  mishap: (verb: string) => Mishap | undefined = () => undefined;

  get spec(): Readonly<Record<string, unknown>> {
    return recordAt(this.#object, "spec");
  }

  get metadata(): Readonly<Record<string, unknown>> {
    return recordAt(this.#object, "metadata");
  }

  /** Writes the Lease as another client, without preconditions. */
  put(
    spec: Readonly<Record<string, unknown>>,
    labels: Readonly<Record<string, string>> = {},
  ): void {
    this.#object = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { namespace: "ns", name: "lease", labels },
      spec: { ...this.spec, ...spec },
    };
    this.#version++;
  }

  remove(): void {
    this.#object = undefined;
  }

  /** Takes back the last writes. */
  restore(): void {
    this.#version -= 3;
  }

  get(): Promise<unknown> {
    return this.#answer("get", () => {});
  }

  create(_resource: unknown, object: Manifest): Promise<unknown> {
    return this.#answer(`create ${holderOf(object)}`, () => {
      if (this.#object !== undefined) throw failure("AlreadyExists", 409);
      this.#store(object);
    });
  }

  replace(_resource: unknown, object: Manifest): Promise<unknown> {
    return this.#answer(`replace ${holderOf(object)}`, () => {
      if (this.#object !== undefined && object.metadata.resourceVersion !== String(this.#version))
        throw failure("Conflict", 409);
      if (this.#object !== undefined) this.#store(object);
    });
  }

  async #answer(request: string, effect: () => void): Promise<unknown> {
    this.requests.push(request);
    const mishap = this.mishap(request.split(" ")[0] ?? "");
    if (mishap === "silence") return new Promise(() => {});
    if (mishap?.effect === "none") throw failure(mishap.code, 500);
    effect();
    if (mishap?.effect === "done") throw failure(mishap.code, 0);
    if (this.#object === undefined) throw failure("NotFound", 404);
    const server = {
      uid: "uid",
      resourceVersion: String(this.#version),
      creationTimestamp: "2026-01-01T00:00:00Z",
    };
    return { ...this.#object, metadata: { ...this.#object.metadata, ...server } };
  }

  #store(object: Manifest): void {
    this.#object = object;
    this.#version++;
  }
}

function holderOf(object: Manifest): string {
  return stringAt(object["spec"], "holderIdentity") || "nobody";
}

function failure(code: KubeErrorCode, status: number): KubeError {
  return new KubeError("lease: no", { code, status });
}
