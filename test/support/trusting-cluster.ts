import { SignJWT } from "jose";
import { Agent, fetch } from "undici";
import { recordAt } from "../../src/api/parse.ts";
import { parseSigningKeys, type SigningKey } from "../../src/tokens/signing-keys.ts";
import type { DedicatedCluster } from "./dedicated-cluster.ts";
import {
  connectedName,
  type DirectFixture,
  directPath,
  rotateSigningKey,
  startDirectFixture,
} from "./direct-fixture.ts";
import { trustTokens } from "./trust.ts";
import { get } from "./cluster-connection.ts";

/** The two ways to a connected cluster: its kube-apiserver, and its direct endpoint. */
export type Way = "kube-apiserver" | "direct endpoint";

/** Both ways. */
export const ways: readonly Way[] = ["kube-apiserver", "direct endpoint"];

/** The path of the Secret with the signing keys in the central cluster. */
export const signingKeysPath = "/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys";

/** What a test changes about a good token. */
export interface TokenChange {
  readonly claims?: object;
  readonly header?: object;
}

/** The answer to a SelfSubjectReview; the status is 200 if it was created. */
export interface Reviewed {
  readonly status: number;
  readonly body: unknown;
}

/** A connected cluster that trusts direct tokens at its kube-apiserver, too. */
export interface TrustingCluster extends DirectFixture {
  readonly trusted: Awaited<ReturnType<typeof trustTokens>>;
  readonly dispatcher: Agent;
  /** The key that signs tokens, as it was when this was read last. */
  signing(): SigningKey;
  readSigning(): Promise<SigningKey>;
  /** Asks Latchkey to rotate the signing keys. */
  rotate(): Promise<unknown>;
  serverOf(way: Way): string;
  /** Asks who the user of a token is. */
  whoami(token: string, way?: Way): Promise<Reviewed>;
  /** The statuses of that request by both ways. */
  statusesOf(token: string): Promise<readonly number[]>;
  /** A token like those that Latchkey mints, but for what a test changes. */
  forge(change: TokenChange, key?: Parameters<SignJWT["sign"]>[0]): Promise<string>;
}

/** The time in seconds since the epoch. */
export const now = (): number => Math.floor(Date.now() / 1000);

/** The user in the answer to a SelfSubjectReview. */
export const userIn = ({ body }: Reviewed) => recordAt(recordAt(body, "status"), "userInfo");

/** Starts it with a central cluster; `allow` makes alice a requester there. */
export async function startTrustingCluster(
  allow: (central: DedicatedCluster) => Promise<void>,
): Promise<TrustingCluster> {
  const fixture = await startDirectFixture(allow);
  const { central, controller, connected, endpoint } = fixture;
  const issuer = controller.issuerUrl;
  const readSigning = async () =>
    ({ signing } = parseSigningKeys(await central.arrange(get(signingKeysPath)))).signing;
  let signing: SigningKey;
  const serverOf = (way: Way) =>
    way === "kube-apiserver" ? connected.url : endpoint.endpointUrl + directPath;
  try {
    const { controlPlane: management } = central;
    const trusted = await trustTokens(connected, {
      management,
      issuer,
      name: connectedName,
    });
    signing = await readSigning();
    const ca = [connected.certificateAuthority, fixture.server.certificateAuthority];
    const dispatcher = new Agent({ connect: { ca } });
    const whoami = async (token: string, way: Way = "kube-apiserver"): Promise<Reviewed> => {
      const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
      const response = await fetch(serverOf(way) + path, {
        dispatcher,
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
      });
      const status = response.status === 201 ? 200 : response.status;
      return { status, body: await response.json() };
    };
    return {
      ...fixture,
      trusted,
      dispatcher,
      readSigning,
      serverOf,
      whoami,
      signing: () => signing,
      rotate: () => rotateSigningKey(central),
      statusesOf: (token) =>
        Promise.all(ways.map(async (way) => (await whoami(token, way)).status)),
      forge({ claims = {}, header = {} }, key = signing.privateKey) {
        const good = {
          iss: issuer,
          sub: "alice",
          aud: "management.service/direct",
          jti: "a-uid",
          iat: now() - 5,
          nbf: now() - 5,
          exp: now() + 600,
          groups: ["devs"],
          "management.service": { name: "forged" },
        };
        return new SignJWT({ ...good, ...claims })
          .setProtectedHeader({ alg: "ES256", typ: "JWT", kid: signing.kid, ...header })
          .sign(key);
      },
      async stop() {
        await dispatcher.close();
        await fixture.stop();
      },
    };
  } catch (error) {
    await fixture.stop();
    throw error;
  }
}
