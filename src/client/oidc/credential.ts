import { numberAt, stringAt } from "../../api/parse.ts";
import { SecretText } from "../../api/secret-text.ts";
import { timestamp } from "../../domain/plan/conditions.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { readOidcToken } from "../../tokens/oidc-token.ts";
import type { Action, Cli, Flags } from "../cli.ts";
import { Failure } from "../failure.ts";
import { jsonText, printValue } from "../output.ts";
import { execCredentialOf } from "../tokens/token-create.ts";
import { githubToken } from "./github-token.ts";
import { audiencesOf, formProblem, readTokenFile } from "./token-text.ts";

type CredentialFlags = Flags<"credential">;

/** A token that nobody has looked at yet, and where it is from, as the subject of a sentence. */
interface FoundToken {
  readonly token: string;
  readonly subject: string;
}

/** `kubectl latchkey credential`. */
export const printCredential: Action<"credential"> = async ({ flags }, cli) => {
  const { audience } = flags;
  if (audience === undefined)
    throw new UsageError("--audience is required: <audience of the issuer>/<name of the key>");
  const { token, subject } = await findToken(flags, audience, cli);
  const end = endOf(new SecretText(token), audience, cli.clock.now());
  if (typeof end === "string") throw new Failure(`${subject} ${end}`);
  const { env, terminal } = cli;
  const found = { token, expiresAt: timestamp(end) };
  printValue(jsonText(execCredentialOf(found, env["KUBERNETES_EXEC_INFO"])), terminal);
};

async function findToken(
  { fromGithub, fromFile, fromVariable }: CredentialFlags,
  audience: string,
  cli: Pick<Cli, "env" | "clock">,
): Promise<FoundToken> {
  const sources = [fromGithub || undefined, fromFile, fromVariable];
  if (sources.filter((source) => source !== undefined).length !== 1)
    throw new UsageError("set one of --from-github, --from-file and --from-variable");
  if (fromFile !== undefined)
    return {
      token: readTokenFile("--from-file", fromFile),
      subject: `the token in ${JSON.stringify(fromFile)}`,
    };
  if (fromVariable === undefined)
    return { token: await githubToken(audience, cli), subject: "the token of the runner" };
  const token = (stringAt(cli.env, fromVariable) ?? "").trim();
  if (token === "")
    throw new UsageError(
      `--from-variable: ${fromVariable} is not set, or is empty; ` +
        "declare it as a token of the job, such as below id_tokens in GitLab",
    );
  return { token, subject: `the token in ${fromVariable}` };
}

/** The last instant of a Date, in milliseconds since the epoch (ECMAScript, "Time Values"). */
const lastInstant = 8.64e15;

/**
 * When a token for an audience ends, in milliseconds since the epoch, or why it cannot be used now,
 * as the predicate of a sentence that quotes nothing of it.
 */
function endOf(token: SecretText, audience: string, now: number): number | string {
  const read = readOidcToken(token);
  if (read.kind === "refused") return `${formProblem(read.reason)}; request a token of an issuer`;
  const { claims } = read;
  const end = (numberAt(claims, "exp") ?? Number.NaN) * 1000;
  if (!(Math.abs(end) <= lastInstant)) return "has no exp that is a date; request another token";
  if (end <= now)
    return `ended at ${timestamp(end)}; request another one, or correct the clock of this machine`;
  return audiencesOf(claims).includes(audience)
    ? end
    : `is not for the audience ${JSON.stringify(audience)}; request it with this aud`;
}
