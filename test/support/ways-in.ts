import { inject } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { eventually } from "./eventually.ts";
import { managementPath } from "./gateway-address.ts";
import { askGateway } from "./gateway-request.ts";
import type { KnownKey } from "./key-request.ts";

/** A request to the API server that is made with a key. */
export interface KeyedRequest {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The media type of the body; JSON by default. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** The answer to it. */
export interface KeyedAnswer {
  readonly code: number;
  /** The reason of a metav1.Status. */
  readonly reason: string | undefined;
  /** The message of a metav1.Status. */
  readonly message: string;
}

type Asking = Pick<KnownKey, "key">;

/** A request about its own user, which every scope allows. */
export const selfReview = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
} as const satisfies KeyedRequest;

/** Sends a request with a key to kube-apiserver, which calls `latchkey webhook`. */
export function askDirectly(key: Asking, request: KeyedRequest): Promise<KeyedAnswer> {
  return askAt(key, request, { prefix: "", server: inject("controlPlane") });
}

/** Sends a request with a key to the gateway. */
export function askThroughGateway(key: Asking, request: KeyedRequest): Promise<KeyedAnswer> {
  return askAt(key, request, { prefix: managementPath });
}

/** Waits until a gateway knows a key; that of the test run by default. */
export async function gatewayKnows(
  key: Asking,
  way: WayIn = { prefix: managementPath },
): Promise<void> {
  const isKnown = async () => (await askAt(key, selfReview, way)).code === 201;
  await eventually(isKnown, { what: "the gateway to know the key" });
}

/** Where an API server is reached; default: the gateway of the test run. */
export interface WayIn {
  readonly prefix: string;
  readonly server?: { readonly url: string; readonly certificateAuthority: string };
}

/** Sends a request with a key or a token to a way in. */
export async function askAt(
  { key }: Asking,
  { method = "GET", path, type = "application/json", headers, body }: KeyedRequest,
  { prefix, ...way }: WayIn & { readonly http2?: boolean },
): Promise<KeyedAnswer> {
  const { status, text } = await askGateway({
    method,
    key,
    path: prefix + path,
    keepAlive: true,
    ...way,
    headers: { "content-type": type, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = parsed(text);
  return {
    code: status,
    reason: stringAt(answer, "reason"),
    message: stringAt(answer, "message") ?? "",
  };
}

/** The object of an answer; undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
