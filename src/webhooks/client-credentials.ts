import { plain, type Handler } from "../runtime/routes.ts";

/** The common name of the certificate that kube-apiserver shows. */
export const apiServerName = "latchkey:kube-apiserver";

/** Lets nobody ask but kube-apiserver, by its client certificate: whoever could ask could try keys, or learn what they may do. */
export function forApiServer(handler: Handler): Handler {
  return (request, peer) => {
    if (peer.clientName === apiServerName) return handler(request, peer);
    return plain(401, `only kube-apiserver may ask, with a client certificate of Latchkey's for ${apiServerName}; see latchkey trust-config --authorization`);
  };
}
