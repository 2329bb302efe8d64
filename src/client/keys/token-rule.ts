import { annotations, ownObjects } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import type { ClaimRule } from "../../domain/oidc/claim-rules.ts";
import { knownIssuer, rulesAdvice } from "../../domain/oidc/known-issuers.ts";
import { tokenRuleOf } from "../../domain/oidc/trusted-tokens.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { issuersInConfigMap } from "../admin/issuers.ts";
import type { ConnectedCli, Flags } from "../cli.ts";
import { readObject, rightText } from "../missing-right.ts";
import { issuersText } from "../oidc/token-problems.ts";
import { yamlText } from "../output.ts";

type CreateFlags = Flags<"keysCreate">;

/** Which tokens stand for a new key, in place of a secret. */
interface NewTokenRule {
  readonly issuer: string;
  readonly rules: readonly ClaimRule[];
  /** What the key is created with. */
  readonly annotations: Readonly<Record<string, string>>;
}

const githubIssuer = "https://token.actions.githubusercontent.com";

/**
 * The rule of the flags about tokens; undefined without them. Throws a UsageError for a rule that
 * the webhook refuses, and for flags about a secret beside it.
 */
export function tokenRuleIn(flags: CreateFlags): NewTokenRule | undefined {
  const { githubRepositoryId: id, claim } = flags;
  const issuer = flags.issuer ?? (id === undefined ? "" : githubIssuer);
  const claims = [...(id === undefined ? [] : [`repository_id=${id}`]), ...claim];
  const given = { [annotations.issuer]: issuer, [annotations.claims]: claims.join("\n") };
  const rule = tokenRuleOf({ annotations: given });
  if (rule === undefined) return undefined;
  if (rule.kind === "invalid") {
    const option = rule.annotation === annotations.issuer ? "--issuer" : "--claim";
    throw new UsageError(`${option} ${rule.problem}`);
  }
  refuseSecretFlags(flags);
  return { issuer, rules: rule.rules, annotations: given };
}

function refuseSecretFlags({ output, outputFile, gateway, gatewayCa }: CreateFlags): void {
  const [[flag] = []] = Object.entries({
    "--output": output,
    "--output-file": outputFile,
    "--gateway": gateway,
    "--gateway-ca": gatewayCa,
  }).filter(([, value]) => value !== undefined);
  if (flag !== undefined)
    throw new UsageError(
      `${flag} cannot be combined with --issuer and --github-repository-id, ` +
        "because such a key has no secret that is printed",
    );
}

/** What is probably not meant, as a warning. */
export function adviceOn({ issuer, rules }: NewTokenRule): string | undefined {
  const advice = rulesAdvice(issuer, rules);
  return advice === undefined ? undefined : `warning: --claim: ${advice}`;
}

/**
 * Prints the user of the kubeconfig of a job that has the tokens of a new key, and says what to do
 * with it.
 */
export async function printJobUser(
  name: string,
  { issuer }: Pick<NewTokenRule, "issuer">,
  deps: ConnectedCli & Pick<CreateFlags, "latchkeyNamespace">,
): Promise<void> {
  const { terminal } = deps.cli;
  const { audience, note } = await audienceOf(issuer, deps);
  const isGithub = knownIssuer(issuer)?.name === "GitHub Actions";
  const source = isGithub ? "--from-github" : "--from-variable=LATCHKEY_TOKEN";
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "kubectl-latchkey",
    args: ["credential", `--audience=${audience}/${name}`, source],
    interactiveMode: "Never",
  };
  terminal.print(yamlText({ users: [{ name: `latchkey-${name}`, user: { exec } }] }));
  if (note !== undefined) terminal.say(note);
  const fix = isGithub
    ? "the job needs permissions: id-token: write"
    : "the variable LATCHKEY_TOKEN has its token; use --from-file=FILE for a token in a file";
  terminal.say(
    `a job gets its credential with this user in its kubeconfig, and kubectl-latchkey in its ` +
      `PATH; ${fix}`,
  );
}

const placeholder = "AUDIENCE";

/** The first audience of an issuer, or a placeholder and why. */
async function audienceOf(
  issuer: string,
  { cluster, latchkeyNamespace: namespace }: Parameters<typeof printJobUser>[2],
): Promise<{ readonly audience: string; readonly note: string | undefined }> {
  const ref = { namespace, name: ownObjects.issuers };
  const { found, missing } = await readObject(resources.configMaps, ref, cluster.get);
  const [audience] = issuersInConfigMap(found).get(issuer)?.audiences ?? [];
  if (audience !== undefined) return { audience, note: undefined };
  const why =
    missing.length > 0
      ? `which you may not read (${missing.map(rightText).join(", ")})`
      : "which has no entry with this issuer, so no token is accepted yet";
  const list = issuersText(namespace);
  const note = `replace ${placeholder} by an audience of the issuer in ${list}, ${why}`;
  return { audience: placeholder, note };
}
