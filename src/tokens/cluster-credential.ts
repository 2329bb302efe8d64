import { numberAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import type { ClusterAccess } from "../domain/gateway/cluster-kubeconfig.ts";
import type { Validity } from "../domain/lifetime.ts";
import { validityOf } from "./certificate-pem.ts";
import { strictJson } from "./strict-json.ts";

/** What a connection to a connected cluster is opened with, in clear; certificates are PEM. */
interface ClusterConnection {
  readonly server: string;
  readonly tls: {
    readonly ca: string;
    readonly cert?: string;
    readonly key?: string;
    readonly servername?: string;
    readonly rejectUnauthorized: true;
  };
  /** The Authorization header; undefined with a client certificate. */
  readonly authorization: string | undefined;
}

/** Reveals the credential of a connected cluster for its connections. */
export function clusterConnection({
  server,
  ca,
  serverName,
  credential,
}: ClusterAccess): ClusterConnection {
  const base = {
    ca,
    ...(serverName === undefined ? {} : { servername: serverName }),
    rejectUnauthorized: true,
  } as const;
  return credential.kind === "token"
    ? { server, tls: base, authorization: `Bearer ${SecretText.reveal(credential.token)}` }
    : {
        server,
        tls: {
          ...base,
          cert: credential.certificate,
          key: SecretText.reveal(credential.key),
        },
        authorization: undefined,
      };
}

/**
 * From when to when a credential says that it is valid: a certificate, or a token that is a JWT
 * (RFC 7519, sections 4.1.4 and 4.1.6), whose signature is not verified. Undefined for another one.
 */
export function credentialValidity({ credential }: ClusterAccess): Validity | undefined {
  if (credential.kind === "certificate") return validityOf(credential.certificate);
  const parts = SecretText.reveal(credential.token).split(".", 4);
  if (parts.length !== 3) return undefined;
  const claims = strictJson(Buffer.from(parts[1] ?? "", "base64url"));
  const end = numberAt(claims, "exp");
  // The last instant of a Date (ECMAScript, "Time Values and Time Range").
  if (end === undefined || Math.abs(end) > 8.64e12) return undefined;
  return { startsAt: (numberAt(claims, "iat") ?? end) * 1000, endsAt: end * 1000 };
}
