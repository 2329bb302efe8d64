import { SecretText } from "../api/secret-text.ts";
import type { ClusterAccess } from "../domain/gateway/cluster-kubeconfig.ts";

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
