import { stringAt } from "../../api/parse.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ApiResponse } from "../../kube/client/transport.ts";
import { connectUser } from "../../kube/client/user-connection.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { strictJson } from "../../tokens/strict-json.ts";
import type { CliProcess } from "../cli.ts";
import { Failure } from "../failure.ts";
import { mostTokenBytes } from "./token-text.ts";

const permission = "the job needs permissions: id-token: write";
const timeoutMs = 10_000;

/**
 * Requests the token of a job of GitHub Actions for an audience from its runner (GitHub Docs,
 * "OpenID Connect reference"), through the proxy of the environment. Rejects with a UsageError or a
 * Failure, which quotes neither a variable nor the answer.
 */
export async function githubToken(
  audience: string,
  { env, clock }: Pick<CliProcess, "env" | "clock">,
): Promise<string> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token } = env;
  if (!address || !token)
    throw new UsageError(
      "ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN are not both set, " +
        `so this is no job of GitHub Actions that may request a token: ${permission}`,
    );
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError("ACTIONS_ID_TOKEN_REQUEST_TOKEN must be a token without blanks");
  const { origin, host, path } = requestOf(address, audience);
  const connection = await connectUser(
    { ...plainChoice, server: origin, credential: { kind: "token", token } },
    { env, clock, isInteractive: false, timeoutMs, onWarning: () => {} },
  );
  try {
    return tokenIn(await connection.request({ method: "GET", path }), host);
  } catch (error) {
    if (!isKubeError(error)) throw error;
    const problem = error.isResponseTooLarge ? tooLarge : error.explanation;
    throw new Failure(`the runner at ${host} gave no token: ${problem}; run the job again`);
  } finally {
    connection.close();
  }
}

/** A connection with the CAs that the machine trusts. */
const plainChoice = {
  certificateAuthority: undefined,
  clientCertificate: undefined,
  clientKey: undefined,
  tlsServerName: undefined,
  insecureSkipTlsVerify: false,
  proxyUrl: undefined,
  impersonate: undefined,
  namespace: "",
  context: "",
} as const;

const localHosts = ["localhost", "127.0.0.1", "[::1]"];

/** Where the token is requested; without TLS only at this machine. */
function requestOf(address: string, audience: string) {
  const url = URL.parse(address);
  const isLocal = localHosts.some((name) => name === url?.hostname);
  if (url?.protocol !== "https:" && !(url?.protocol === "http:" && isLocal))
    throw new UsageError(
      "ACTIONS_ID_TOKEN_REQUEST_URL must be an https URL; without TLS, it must be one of this " +
        "machine",
    );
  const { origin, host, pathname, search } = url;
  const query = `${search === "" ? "?" : `${search}&`}audience=${encodeURIComponent(audience)}`;
  return { origin, host, path: pathname + query };
}

const tooLarge = `its answer is larger than ${mostTokenBytes} bytes`;

/** The token in an answer `{"value": token}`; throws a Failure. A redirect is not followed. */
function tokenIn({ status, text }: ApiResponse, host: string): string {
  if (status !== 200)
    throw new Failure(
      `the runner at ${host} gave no token: it answered with status ${status}; ${permission}`,
    );
  const isTooLarge = Buffer.byteLength(text) > mostTokenBytes;
  const token = isTooLarge ? "" : (stringAt(strictJson(text), "value") ?? "");
  if (token !== "") return token;
  const problem = isTooLarge ? tooLarge : 'its answer is no JSON object with a text "value"';
  throw new Failure(`the runner at ${host} gave no token: ${problem}; run the job again`);
}
