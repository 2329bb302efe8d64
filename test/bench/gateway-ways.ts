import { Pool } from "undici";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { post } from "../support/bare-client.ts";
import { keyRequest, plainKeyOf, secretPath } from "../support/bench-objects.ts";
import type { BenchFixture, RunningServer } from "./bench-fixture.ts";

const day = 86_400;
const admins = "gateway-bench";
const management = "/kubernetes/management";

/** A way to the API server, with a credential of an administrator. */
export interface Way {
  readonly pool: Pool;
  readonly origin: string;
  readonly ca: string;
  readonly prefix: string;
  readonly authorization: string;
}

/** The ways that are compared. */
export interface Ways {
  readonly direct: Way;
  readonly http1: Way;
  readonly http2: Way;
}

/** Creates the key of this name, of an administrator of this name. */
export async function makeAdminKey(
  { admin }: BenchFixture,
  name: string,
  group = admins,
): Promise<string> {
  await admin.send(keyRequest(name, name, day, { groups: [group] }));
  return plainKeyOf(name);
}

/** Makes a group an administrator, by default that of {@link makeAdminKey}. */
export async function grantAdmins({ admin }: BenchFixture, name = admins): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  await admin.send(
    post(`/apis/${apiGroup}/v1/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup, kind: "Group", name }],
    }),
  );
}

/** Sends a GET and reads its response; throws on another status. */
export async function getThrough(way: Way, path: string, expected = 200): Promise<void> {
  const status = await statusThrough(way, path);
  if (status !== expected) throw new Error(`GET ${path}: ${status}`);
}

/** Sends a GET and reads its response; returns the status. */
export async function statusThrough(
  { pool, prefix, authorization }: Way,
  path: string,
): Promise<number> {
  const headers = { authorization };
  const { statusCode, body } = await pool.request({ method: "GET", path: prefix + path, headers });
  await body.dump({ limit: Number.MAX_SAFE_INTEGER });
  return statusCode;
}

/** Opens the three ways with an access key; `close` ends their connections. */
export async function openWays(
  fixture: BenchFixture,
  { url }: RunningServer,
  key: string,
): Promise<OpenWays> {
  const ca = await secretCa(fixture, ownObjects.gatewayCertificates);
  return openWaysTo(fixture, { url, ca, prefix: management, credential: key });
}

/** Ways with connections. */
export type OpenWays = Ways & { close(): Promise<unknown> };

/** A server in front of the API server, and a credential for it. */
export interface Front {
  readonly url: string;
  readonly ca: string;
  readonly prefix: string;
  readonly credential: string;
}

/** Opens the ways through a server, and past it; `close` ends their connections. */
export function openWaysTo(
  { controlPlane }: Pick<BenchFixture, "controlPlane">,
  { url: frontUrl, ca, prefix, credential }: Front,
): OpenWays {
  const reach = (origin: string, authority: string, allowH2: boolean) => ({
    origin,
    ca: authority,
    pool: new Pool(origin, {
      connections: allowH2 ? 4 : 64,
      allowH2,
      pipelining: allowH2 ? 100 : 1,
      connect: { ca: authority },
    }),
  });
  const { url, certificateAuthority, tokens } = controlPlane;
  const authorization = `Bearer ${credential}`;
  const ways: Ways = {
    direct: {
      ...reach(url, certificateAuthority, false),
      prefix: "",
      authorization: `Bearer ${tokens["admin"] ?? ""}`,
    },
    http1: { ...reach(frontUrl, ca, false), prefix, authorization },
    http2: { ...reach(frontUrl, ca, true), prefix, authorization },
  };
  return {
    ...ways,
    close: () => Promise.all(Object.values(ways).map(({ pool }) => pool.destroy())),
  };
}

/** The CA in a Secret of certificates, in PEM. */
export async function secretCa({ admin }: BenchFixture, name: string): Promise<string> {
  const secret = await admin.get(secretPath("latchkey-system", name));
  return Buffer.from(stringAt(recordAt(secret, "data"), "ca.crt") ?? "", "base64").toString();
}
