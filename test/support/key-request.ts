import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { inject } from "vitest";
import { connect, send, type Answer, type Ask, type Connection } from "./cluster-connection.ts";
import type { ControlPlane } from "./control-plane-handle.ts";
import { eventually } from "./eventually.ts";
import { type KubectlResult, tryKubectl } from "./kubectl.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { make, type Own, type WantedOwn } from "./keys-and-tokens.ts";
import { unique } from "./policy-request.ts";

/** An access key whose plain text the test knows. */
export interface KnownKey extends Own {
  readonly key: string;
}

/** Creates a key with a random value as the administrator. */
export async function makeKey({ spec = {}, ...wanted }: WantedOwn = {}): Promise<KnownKey> {
  const key = randomBytes(24).toString("base64url");
  return { ...(await make("OwnedAccessKey", { ...wanted, spec: { key, ...spec } })), key };
}

const connections = new Map<string, Promise<Connection>>();

/** Sends a request with a key, or any other text, as the bearer token. */
export function askWith(key: string, request: Ask): Promise<Answer> {
  return askAs(inject("controlPlane"), key, request);
}

/** The same for a control plane other than that of the test run. */
export async function askAs(
  { adminKubeconfig }: Pick<ControlPlane, "adminKubeconfig">,
  key: string,
  request: Ask,
): Promise<Answer> {
  const connection = connections.get(adminKubeconfig) ?? connect(adminKubeconfig);
  connections.set(adminKubeconfig, connection);
  return send(
    { pool: (await connection).pool, headers: ["authorization", `Bearer ${key}`] },
    {},
    request,
  );
}

/** Runs kubectl with a key as its credential. */
export async function kubectlWith(key: string, args: readonly string[]): Promise<KubectlResult> {
  const { url, certificateAuthority, kubectl, directory } = inject("controlPlane");
  const path = join(directory, `${unique("key")}.kubeconfig`);
  writeKubeconfig(path, { url, certificateAuthority }, { key: { token: key } });
  return tryKubectl({ kubectl, directory, kubeconfigs: { key: path } }, args, { user: "key" });
}

/** The user that the API server sees behind a key (`kubectl auth whoami`). */
export interface Who {
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The user that the API server authenticates with this key; undefined on 401. */
export async function whoIs(key: string): Promise<Who | undefined> {
  const request = {
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: {},
  } as const;
  const { code, message, status } = await askWith(key, request);
  if (code === 401) return undefined;
  if (code !== 201) throw new Error(`SelfSubjectReview: ${code} ${message}`);
  const answer: { userInfo: Who } = JSON.parse(JSON.stringify(status));
  return answer.userInfo;
}

/**
 * Waits until a key is accepted: the webhook receives it through its watch, and a rejection is
 * cached for 15 s.
 */
export async function worksAs({ key }: Pick<KnownKey, "key">): Promise<Who> {
  return eventually(() => whoIs(key), { what: "the key to work", every: 100 });
}

/** The time until a request that a key allowed is rejected, and its status code. */
export async function refusalOf(
  { key }: Pick<KnownKey, "key">,
  request: Ask,
): Promise<{ readonly code: number; readonly ms: number }> {
  const began = performance.now();
  const refused = async () => {
    const { code } = await askWith(key, request);
    return code !== 200 && { code };
  };
  const { code } = await eventually(refused, { what: "the key to be refused", every: 20 });
  return { code, ms: Math.round(performance.now() - began) };
}
