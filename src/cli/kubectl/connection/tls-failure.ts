const untrusted =
  "is not trusted: it is not signed by a CA that the kubeconfig names; set the CA of the server as certificate-authority-data in the kubeconfig, or with --certificate-authority";
const ofClock =
  "check the clock of this machine, or ask an administrator of the cluster to renew the certificate";

/** Codes of Node.js and OpenSSL (`x509_verify_cert_error_string`) about the certificate. */
const certificateProblems: ReadonlyMap<string, string> = new Map([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted],
  ["CERT_UNTRUSTED", untrusted],
  ["CERT_SIGNATURE_FAILURE", untrusted],
  ["INVALID_CA", untrusted],
  ["CERT_HAS_EXPIRED", `has expired; ${ofClock}`],
  ["CERT_NOT_YET_VALID", `is not valid yet; ${ofClock}`],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "is for another name than that of the address; use an address that the certificate names, or set --tls-server-name to a name of it",
  ],
]);

/** A sentence for the error code of a TLS handshake that failed; undefined for another code. */
export function tlsFailure(code: string): string | undefined {
  const problem = certificateProblems.get(code);
  if (problem !== undefined) return `the certificate of the API server ${problem} (${code})`;
  if (!code.startsWith("ERR_SSL_") && code !== "EPROTO") return undefined;
  return /_ALERT_.*(?:CERTIFICATE|UNKNOWN_CA)/.test(code)
    ? `the API server does not accept the client certificate of the kubeconfig; log in again, or use another context (${code})`
    : `the API server and the client agree on no TLS connection; check the address and the port of the server, and the proxy if there is one (${code})`;
}
