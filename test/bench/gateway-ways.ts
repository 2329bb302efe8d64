import { Pool } from "undici";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { keyRequest, parsed, plainKeyOf, secretPath } from "../support/bench-objects.ts";
import type { BenchFixture, RunningGateway } from "./bench-fixture.ts";

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
export async function makeAdminKey({ admin }: BenchFixture, name: string): Promise<string> {
  await admin.send(keyRequest(name, name, day, { groups: [admins] }));
  return plainKeyOf(name);
}

/** Makes the group of {@link makeAdminKey} an administrator. */
export async function grantAdmins({ admin }: BenchFixture): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await admin.send({
    method: "POST",
    path: `/apis/${group}/v1/clusterrolebindings`,
    body: {
      metadata: { name: admins },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: group, kind: "Group", name: admins }],
    },
  });
}

/** Opens the three ways; `close` ends their connections. */
export async function openWays(
  fixture: BenchFixture,
  { gatewayUrl }: RunningGateway,
  key: string,
): Promise<Ways & { close(): Promise<unknown> }> {
  const { controlPlane } = fixture;
  const ca = await gatewayCa(fixture);
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
  const authorization = `Bearer ${key}`;
  const ways: Ways = {
    direct: {
      ...reach(url, certificateAuthority, false),
      prefix: "",
      authorization: `Bearer ${tokens["admin"] ?? ""}`,
    },
    http1: { ...reach(gatewayUrl, ca, false), prefix: management, authorization },
    http2: { ...reach(gatewayUrl, ca, true), prefix: management, authorization },
  };
  return {
    ...ways,
    close: () => Promise.all(Object.values(ways).map(({ pool }) => pool.destroy())),
  };
}

async function gatewayCa({ admin }: BenchFixture): Promise<string> {
  const path = secretPath("latchkey-system", ownObjects.gatewayCertificates);
  const secret = parsed(await admin.send({ method: "GET", path }));
  return Buffer.from(stringAt(recordAt(secret, "data"), "ca.crt") ?? "", "base64").toString();
}
