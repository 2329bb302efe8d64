import { isKubeError, KubeError } from "../kube/client/kube-error.ts";
import { CredentialsError } from "../kube/credentials/credentials.ts";
import { UsageError } from "../runtime/config-values.ts";
import { rightHint } from "./missing-right.ts";

/** The exit codes of every command but `run`, with their meaning in docs/cli.md. */
export const exitCodes = {
  done: { code: 0, meaning: "the command succeeded" },
  failed: { code: 1, meaning: "the request was refused, or it failed" },
  usage: { code: 2, meaning: "the command line or the kubeconfig is wrong" },
  unhealthy: {
    code: 3,
    meaning:
      "something is not well: of `check`, `status`, `refresh-now` and `why --exit-code`, " +
      "of `plan --exit-code` if sync would change something, and of `keys create`, `cluster " +
      "connect` and `token create` if the object does not become ready, or if no server of the " +
      "output accepts the key",
  },
  notFound: { code: 4, meaning: "the object or the data key does not exist" },
  forbidden: { code: 5, meaning: "a right is missing; the message names it" },
} as const;

/** The exit codes of `run` that are not those of its program. */
export const runExitCodes = { failed: 125, notExecutable: 126, notFound: 127 } as const;

/** A failure of a command: one sentence, and the exit code. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(sentence: string, kind: Exclude<keyof typeof exitCodes, "done"> = "failed") {
    super(sentence);
    this.name = "Failure";
    this.exitCode = exitCodes[kind].code;
  }
}

/** The exit code for an error that a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  if (error instanceof UsageError || error instanceof CredentialsError) return exitCodes.usage.code;
  if (isKubeError(error, "NotFound")) return exitCodes.notFound.code;
  if (isKubeError(error, "Forbidden") && lacksRight(error)) return exitCodes.forbidden.code;
  return exitCodes.failed.code;
}

/** Whether RBAC denied the request, or a policy that asks RBAC for a verb (config/policies). */
function lacksRight({ lacksPermission, explanation }: KubeError): boolean {
  return lacksPermission || /\brequires? the verb [a-z]+ on /.test(explanation);
}

/** The sentence for an error that a command threw, without its stack and on one line. */
export function sentenceOf(error: unknown): string {
  if (error instanceof KubeError) return printable(kubeSentence(error));
  return printable(error instanceof Error ? error.message : String(error));
}

function kubeSentence(error: KubeError): string {
  switch (error.code) {
    case "Network":
      if (error.status !== 0) return error.explanation;
      return tlsFailure(error) ?? `${serverOf(error)} does not answer: ${error.explanation}`;
    case "Unauthorized":
      return (
        "the API server does not accept the credentials; " +
        "log in again, or use another context or key"
      );
    case "NotFound":
      return error.objectName === undefined
        ? `${error.explanation}; this may be a connected cluster, or one without Latchkey: ` +
            "kubectl latchkey check says which"
        : error.explanation;
    case "Forbidden": {
      const hint = error.lacksPermission ? rightHint(error.explanation) : undefined;
      return hint === undefined ? error.explanation : `${error.explanation}: ${hint}`;
    }
    case "BadRequest":
    case "AlreadyExists":
    case "Conflict":
    case "Gone":
    case "Invalid":
    case "TooManyRequests":
    case "ServerError":
    case "Fenced":
      return error.explanation;
  }
}

/** The API server that an error is about, with its host where it is known. */
function serverOf({ host }: KubeError): string {
  return host === undefined ? "the API server" : `the API server at ${host}`;
}

/**
 * Text of a server without control characters, which could change the title, colors or contents of
 * a terminal.
 */
export function printable(text: string): string {
  // oxlint reports control characters in regular expressions, so they are matched by category.
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, "\u{fffd}")
    .trim();
}

const untrusted =
  "is not trusted: it is not signed by a CA that the kubeconfig names; " +
  "set the CA of the server as certificate-authority-data in the kubeconfig, " +
  "or with --certificate-authority";
const ofClock =
  "check the clock of this machine, or ask an administrator of the cluster to renew the " +
  "certificate";

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
    "is for another name than that of the address; " +
      "use an address that the certificate names, or set --tls-server-name to a name of it",
  ],
]);

/** A sentence for the error of a TLS handshake that failed; undefined for another code. */
function tlsFailure(error: KubeError): string | undefined {
  const code = error.explanation;
  const problem = certificateProblems.get(code);
  if (problem !== undefined) return `the certificate of ${serverOf(error)} ${problem} (${code})`;
  if (!code.startsWith("ERR_SSL_") && code !== "EPROTO") return undefined;
  const [, ...alerts] = code.split("_ALERT_");
  return alerts.some((alert) => /CERTIFICATE|UNKNOWN_CA/.test(alert))
    ? `${serverOf(error)} does not accept the client certificate of the kubeconfig; ` +
        `log in again, or use another context (${code})`
    : `${serverOf(error)} and the client agree on no TLS connection; ` +
        `check the address and the port of the server, and the proxy if there is one (${code})`;
}

/** Turns the error of a missing object into a UsageError with this sentence. */
export function notFound(sentence: string): (error: unknown) => never {
  return (error) => {
    throw isKubeError(error, "NotFound") ? new UsageError(sentence) : error;
  };
}
