import { annotations, extras, labels } from "../../api/names.ts";
import { parseOwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { recordAt, stringAt, stringMapAt, stringsAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import { boundSubjectOf } from "../../domain/access-key/key-digest.ts";
import { isGuardedNamespace } from "../../domain/scope/derived-credentials.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { boundDigest, presentedKey } from "../../tokens/access-key.ts";
import { isTokenForm } from "../../tokens/oidc-token.ts";
import type { Action, Cli, Flags } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { Failure, printable, sentenceOf } from "../failure.ts";
import { keyColumns, keyLines } from "./key-view.ts";
import { createKeyless, makeKey, newKeyObject, tryKey } from "./new-key.ts";
import { adviceOn, printJobUser, tokenRuleIn } from "./token-rule.ts";
import { refusedTokenReason } from "../oidc/refused-token.ts";
import { doneText, resultText } from "../output.ts";
import { deleteOf, describeOf, listOf } from "../objects/object-actions.ts";
import { scopeOf, spaceFix } from "./scope-options.ts";
import type { Terminal } from "../terminal.ts";

const resource = resources.ownedAccessKeys;

type CreateFlags = Flags<"keysCreate">;

/** `kubectl latchkey keys create`. */
export const createKey: Action<"keysCreate"> = async ({ flags, args: [name = ""] }, cli) => {
  if (flags.idle && flags.ttl === undefined) throw new UsageError("--idle requires --ttl");
  const rule = tokenRuleIn(flags);
  const cluster = await cli.connect(flags);
  const spec = await specOf(flags, cluster);
  if (rule === undefined)
    return makeKey(newKeyObject(name, spec, cluster), flags, { cluster, cli });
  const advice = adviceOn(rule);
  if (advice !== undefined) cli.terminal.say(advice);
  const code = await createKeyless(name, { spec, ...rule }, { cluster, cli });
  await printJobUser(name, rule, { ...flags, cluster, cli });
  return code;
};

async function specOf(
  flags: CreateFlags,
  cluster: Cluster,
): Promise<Readonly<Record<string, unknown>>> {
  const { group, ttl, idle, displayName, description } = flags;
  const named = namedSubject(flags);
  const scope = scopeOf({ ...flags, space: [...flags.space, ...(await spacesOf(flags, cluster))] });
  const optional = { displayName, description, ttl, scope };
  return {
    ...(named ?? { user: await ownName(cluster) }),
    ...(group.length === 0 ? {} : { groups: group }),
    ...(idle ? { ttlAfterLastActivity: true } : {}),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    type: "User",
  };
}

/** The spaces of the namespaces of the flags; rejects with a Failure that says how to label one. */
async function spacesOf(
  { forNamespace, latchkeyNamespace }: CreateFlags,
  { getMetadata }: Cluster,
): Promise<CreateFlags["space"]> {
  const spaces: CreateFlags["space"][number][] = [];
  for (const name of forNamespace) {
    if (isGuardedNamespace(name, latchkeyNamespace))
      throw new UsageError(`--for-namespace: no space covers the protected namespace "${name}"`);
    const metadata = recordAt(await getMetadata(resources.namespaces, { name }), "metadata");
    const given = stringMapAt(metadata, "labels");
    const { [labels.project]: project = "", [labels.space]: space = "" } = given;
    if (project !== "" && space !== "") spaces.push([project, space]);
    else throw new Failure(spaceFix(name, { project, space }));
  }
  return spaces;
}

/** The user, team or subject of the flags; undefined without one. */
function namedSubject({
  user,
  team,
  subject,
}: Pick<CreateFlags, "user" | "team" | "subject">): Readonly<Record<string, string>> | undefined {
  const named = Object.entries({ user, team, subject }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  if (named.length > 1) throw new UsageError("set only one of --user, --team and --subject");
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

async function ownName({ review }: Cluster): Promise<string> {
  const { userInfo } = await review(resources.selfReviews, {});
  const name = stringAt(userInfo, "username") ?? "";
  if (name !== "" && !name.includes(":")) return name;
  throw new UsageError(
    `you are "${name}", which may have a prefix; set --user, --team or --subject`,
  );
}

/** `kubectl latchkey keys list`. */
export const listKeys: Action<"keysList"> = listOf({ ...resource, ownColumns: keyColumns });

/** `kubectl latchkey keys describe`. */
export const describeKey: Action<"keysDescribe"> = describeOf(resource, keyLines);

/** `kubectl latchkey keys disable`. */
export const disableKey: Action<"keysDisable"> = async ({ flags, args: [name = ""] }, cli) => {
  if (flags.self === (name !== "")) throw new UsageError("set either NAME or --self");
  const cluster = await cli.connect(flags);
  const body = { spec: { disabled: true } };
  const ref = { name: flags.self ? await ownKeyId(cluster) : name };
  const object = await cluster.patch(resource, ref, { body }).catch((error: unknown) => {
    if (flags.self && isKubeError(error, "NotFound", "Forbidden")) throw byNameOnly;
    throw error;
  });
  const ended = stringAt(recordAt(object, "metadata"), "name") ?? name;
  cli.terminal.print(doneText(resource, { name: ended }, "disabled"));
};

/** The uid of the key that the requests are made with, which the gateway takes for its name. */
async function ownKeyId({ review }: Cluster): Promise<string> {
  const { userInfo } = await review(resources.selfReviews, {});
  const [uid] = stringsAt(recordAt({ userInfo }, "userInfo")["extra"], extras.keyId);
  if (uid !== undefined) return uid;
  throw new UsageError("--self requires that the kubeconfig has an access key");
}

const byNameOnly = new Failure(
  "only Latchkey's gateway of this version finds the key of a request; name the key instead: " +
    "kubectl latchkey keys disable NAME",
);

/** `kubectl latchkey keys enable`. */
export const enableKey: Action<"keysEnable"> = async ({ flags, args: [name = ""] }, cli) => {
  const cluster = await cli.connect(flags);
  await cluster.patch(resource, { name }, { body: { spec: { disabled: false } } });
  cli.terminal.print(doneText(resource, { name }, "enabled"));
};

/** `kubectl latchkey keys delete`. */
export const deleteKeys: Action<"keysDelete"> = deleteOf(resource);

/** `kubectl latchkey keys take-over`. */
export const takeOverKey: Action<"keysTakeOver"> = async ({ flags, args: [name = ""] }, cli) => {
  const cluster = await cli.connect(flags);
  const object = await cluster.get(resource, { name });
  const metadata = recordAt(object, "metadata");
  const { uid } = metadata;
  // A rule about tokens goes when a key comes.
  const rule = [annotations.issuer, annotations.claims]
    .filter((one) => stringMapAt(metadata, "annotations")[one] !== undefined)
    .map((one) => [one, null] as const);
  const change = { uid, ...(rule.length > 0 && { annotations: Object.fromEntries(rule) }) };
  const write = (key: string): Promise<unknown> =>
    cluster.patch(resource, { name }, { body: { metadata: change, spec: { key } } });
  const done = "taken over";
  return makeKey({ spec: recordAt(object, "spec"), write, done }, flags, { cluster, cli });
};

/** `kubectl latchkey keys digest`. */
export const printDigest: Action<"keysDigest"> = async ({ flags }, { terminal }) => {
  const subject = boundSubjectOf(parseOwnedAccessKeySpec(namedSubject(flags) ?? {}));
  if (subject === undefined) throw new UsageError("set --user, --team or --subject");
  const key = new SecretText(await keyOf(terminal));
  if (presentedKey(key) === undefined)
    throw new UsageError(
      "the input is not a key; a key has 16 to 512 characters from A-Z a-z 0-9 . _ ~ + / = -, " +
        "and does not look like a digest",
    );
  terminal.print(`${boundDigest(key, subject)}\n`);
};

/** The key in the standard input, or from the terminal. */
async function keyOf(terminal: Terminal): Promise<string> {
  const typed = terminal.isInput
    ? await terminal.askSecret("Key: ")
    : (await terminal.readInput()).toString("utf8");
  return typed.trim();
}

/** `kubectl latchkey keys test`. */
export const testKey: Action<"keysTest"> = async ({ flags }, cli) => {
  const { terminal } = cli;
  const token = await keyOf(terminal);
  const secret = new SecretText(token);
  const isToken = isTokenForm(secret);
  // A header cannot hold it otherwise.
  if (!isToken && !/^[\x21-\x7e]{1,4096}$/.test(token))
    throw new UsageError("the input is not a key");
  const trial = await tryKey(token, flags, cli);
  if (trial.kind === "unknown" && isToken) throw await refusedToken(secret, flags, cli);
  if (trial.kind === "unknown")
    throw new Failure(
      "the server does not accept this key: it is unknown, disabled or expired, " +
        "or the server does not know Latchkey's keys",
    );
  if (trial.kind === "refused")
    throw new Failure(`the server does not accept this key any more: ${trial.why}`);
  const { userInfo } = trial;
  terminal.print(
    resultText(flags.output, userInfo, () => {
      const extra = recordAt(userInfo, "extra");
      const rows = [
        ["Username", stringAt(userInfo, "username") ?? ""],
        ["Groups", JSON.stringify(recordAt({ userInfo }, "userInfo")["groups"] ?? [])],
        ...Object.entries(extra).map(([name, values]) => [name, JSON.stringify(values)]),
      ];
      return rows.map(([name, value = ""]) => `${printable(`${name}: ${value}`)}\n`).join("");
    }),
  );
};

/** The failure of a token that the server refuses, and why, as far as the user may read it. */
async function refusedToken(
  token: SecretText,
  flags: Flags<"keysTest">,
  { connect, clock }: Cli,
): Promise<Failure> {
  const prefixes = { user: "", team: "" };
  const config = { namespace: flags.latchkeyNamespace, maximumKeyTtl: 0, prefixes };
  const cluster = await connect(flags);
  const reason = await refusedTokenReason(token, { cluster, config, now: clock.now() });
  const unseen =
    "nothing else is wrong with it: its issuer did not sign it, " +
    "or the server does not know Latchkey's keys";
  return new Failure(`the server does not accept this token: ${reason ?? unseen}`);
}

/** A sentence about a refused step that the user can do without. */
export function refusedSentence(error: unknown): string {
  if (isKubeError(error, "Forbidden", "Invalid")) return sentenceOf(error);
  throw error;
}
