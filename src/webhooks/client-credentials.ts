import { plain, type HttpResponse, type Peer } from "../runtime/routes.ts";

/** The common name of the certificate that kube-apiserver presents. */
export const apiServerName = "latchkey:kube-apiserver";

/**
 * Refuses every client except kube-apiserver, by its client certificate: any other client could try
 * keys.
 */
export function requireApiServer({ clientName }: Peer): HttpResponse | undefined {
  if (clientName === apiServerName) return undefined;
  return plain(
    401,
    `client certificate of Latchkey's CA with CN "${apiServerName}" required; see kubectl latchkey trust-config --authorization`,
  );
}
