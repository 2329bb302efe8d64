import { keyOf, type Manifest, type ObjectRef } from "../../src/api/object.ts";
import { isRecord } from "../../src/api/parse.ts";
import type { Resource } from "../../src/api/resources.ts";
import type { Client, DeletePreconditions, Patch } from "../../src/kube/client/client.ts";
import {
  KubeError,
  type KubeErrorCode,
  type KubeErrorDetails,
} from "../../src/kube/client/kube-error.ts";

/** A recorded request; `body` is the object, the patch or the preconditions. */
export interface Request {
  readonly verb: keyof Client;
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly body?: unknown;
  readonly dryRun?: boolean;
}

/** A client that records requests and returns the responses that the test defines. */
export class FakeClient implements Client {
  readonly requests: Request[] = [];
  readonly #answer: (request: Request) => unknown;

  /** `answer` returns the response to a request, or the error that it fails with. */
  constructor(answer: (request: Request) => unknown = () => ({})) {
    this.#answer = answer;
  }

  /** The requests so far, such as `create secrets ns/name`. */
  get lines(): readonly string[] {
    return this.requests.map(
      ({ verb, resource, ref }) => `${verb} ${resource.plural} ${keyOf(ref)}`,
    );
  }

  get(resource: Resource, ref: ObjectRef): Promise<unknown> {
    return this.#send({ verb: "get", resource, ref });
  }

  getMetadata(resource: Resource, ref: ObjectRef): Promise<unknown> {
    return this.#send({ verb: "getMetadata", resource, ref });
  }

  create(
    resource: Resource,
    object: Manifest,
    options?: { readonly dryRun: boolean },
  ): Promise<unknown> {
    return this.#send({ verb: "create", resource, ref: object.metadata, body: object, ...options });
  }

  review(resource: Resource, spec: Readonly<Record<string, unknown>>): Promise<unknown> {
    return this.#send({ verb: "review", resource, ref: { name: "" }, body: spec });
  }

  replace(resource: Resource, object: Manifest): Promise<unknown> {
    return this.#send({ verb: "replace", resource, ref: object.metadata, body: object });
  }

  patch(resource: Resource, ref: ObjectRef, patch: Patch): Promise<unknown> {
    return this.#send({ verb: "patch", resource, ref, body: patch });
  }

  /** Returns a Status, unless the test returns an object that stays until its finalizers go. */
  async delete(
    resource: Resource,
    ref: ObjectRef,
    preconditions: DeletePreconditions,
  ): Promise<unknown> {
    const answer = await this.#send({ verb: "delete", resource, ref, body: preconditions });
    return isRecord(answer) && isRecord(answer["metadata"]) ? answer : { kind: "Status" };
  }

  async #send(request: Request): Promise<unknown> {
    this.requests.push(request);
    const answer = this.#answer(request);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

/** The error of a rejected request. */
export function refusal(
  code: KubeErrorCode,
  details: Partial<KubeErrorDetails> & { readonly message?: string } = {},
): KubeError {
  const { message = `refused: ${code}`, ...rest } = details;
  return new KubeError(message, { code, status: 0, ...rest });
}
