import { parseEndpointToken } from "../../api/endpoint-token.ts";
import { extras } from "../../api/names.ts";
import { recordAt, stringsAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { parseRole, parseRoleBinding } from "../../api/role.ts";
import { type Credentials, groupsOf, userAccess } from "../../domain/access-key/user-access.ts";
import { nameOf } from "../../domain/report-object.ts";
import {
  type BoundUser,
  explainBinding,
  subjectsOf,
} from "../../domain/requester/requester-bindings.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { accessKeyCacheEntry } from "../../tokens/access-key.ts";
import type { Action, ConnectedCli, Flags } from "../cli.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodeOf, exitCodes, Failure, sentenceOf } from "../failure.ts";
import { type Readable, readObject, readWith } from "../missing-right.ts";
import { readAllOrNamed } from "../objects/listing.ts";
import { deleteOf } from "../objects/object-actions.ts";
import { doneText, tableText, triedText } from "../output.ts";
import { asSentence, printReport, withMissing } from "../report.ts";

type RevokeFlags = Flags<"revoke">;
const resource = resources.ownedAccessKeys;

/** `kubectl latchkey revoke`. */
export const revoke: Action<"revoke"> = async ({ flags }, cli) => {
  const { terminal } = cli;
  const { user } = flags;
  if (user === undefined) throw new UsageError("set --user to the user whose access ends");
  const isAsked = !flags.yes && flags.dryRun !== "server";
  if (isAsked && !terminal.isInput)
    throw new UsageError(
      "revoke asks before it changes anything, and the standard input is no terminal; " +
        "set --yes, or look with --dry-run=server",
    );
  const cluster = await cli.connect(flags);
  const { access, others } = await readAccess(user, flags, cluster);
  const items = withMissing({
    found: [...access.found, ...others.found],
    missing: [...access.missing, ...others.missing],
  });
  printReport(items, () => tableText(["STATE", "OBJECT", "WHY"], items.map(cellsOf)), {
    output: flags.output,
    terminal,
  });
  const due = access.found.filter(({ state }) => state === "disable" || state === "delete");
  const tokens = due.filter(({ state }) => state === "delete").length;
  const what = `these access keys (${due.length - tokens}) and delete these tokens (${tokens})`;
  if (due.length === 0) terminal.say(`nothing of user "${user}" is left to revoke`);
  else if (isAsked && !/^y(?:es)?$/i.test(await terminal.ask(`Disable ${what}? [y/N] `)))
    throw new Failure("nothing is changed");
  const code = await endAll(due, flags, { cluster, cli });
  // What may not be listed may be the user's, too.
  return code === 0 && access.missing.length > 0 ? exitCodes.forbidden.code : code;
};

function cellsOf({ state, object, message }: ReportItem): readonly string[] {
  return [state, nameOf(object), asSentence(message)];
}

/** Ends keys and tokens in their order, also after one that is refused; returns the exit code. */
async function endAll(
  due: readonly ReportItem[],
  flags: RevokeFlags,
  { cluster, cli }: ConnectedCli,
): Promise<number> {
  const names = (from: number, to: number, wanted: ReportItem["state"]): readonly string[] =>
    due
      .slice(from, to)
      .flatMap(({ state, object: { name = "" } }) => (state === wanted ? name : []));
  const last = due.findLastIndex(({ state }) => state === "delete") + 1;
  const { say } = cli.terminal;
  // The standard output has the report.
  const terminal = { ...cli.terminal, print: (text: unknown) => say(String(text)) };
  const deleteTokens = deleteOf(resources.endpointTokens);
  const codes = [
    await disableAll(names(0, last, "disable"), flags, { cluster, cli }),
    await deleteTokens(
      { flags, args: names(0, last, "delete") },
      { ...cli, terminal, connect: async () => cluster },
    ),
    await disableAll(names(last, due.length, "disable"), flags, { cluster, cli }),
  ];
  return codes.find((code) => code !== 0) ?? 0;
}

async function disableAll(
  names: readonly string[],
  { dryRun }: Pick<RevokeFlags, "dryRun">,
  { cluster, cli: { terminal } }: ConnectedCli,
): Promise<number> {
  const isDry = dryRun === "server";
  let failed = 0;
  for (const name of names)
    try {
      const body = { spec: { disabled: true } };
      await cluster.patch(resource, { name }, { body, dryRun: isDry });
      terminal.say(doneText(resource, { name }, triedText("disabled", isDry)));
    } catch (error) {
      if (isKubeError(error, "NotFound")) continue;
      terminal.say(`OwnedAccessKey "${name}" is not disabled: ${sentenceOf(error)}`);
      failed ||= exitCodeOf(error);
    }
  return failed;
}

/** What a user has, and what lets it make more; `access` lacks what may not be listed. */
async function readAccess(
  name: string,
  { group, userPrefix, teamPrefix }: RevokeFlags,
  cluster: Cluster,
): Promise<Readonly<Record<"access" | "others", Readable<readonly ReportItem[]>>>> {
  const { ownedAccessKeys, endpointTokens, selfReviews } = resources;
  const keys = await readAllOrNamed(cluster, ownedAccessKeys);
  const tokens = await readAllOrNamed(cluster, endpointTokens);
  const { userInfo } = await cluster.review(selfReviews, {});
  const [ownKeyId] = stringsAt(recordAt({ userInfo }, "userInfo")["extra"], extras.keyId);
  const credentials: Credentials = {
    keys: keys.found.map(accessKeyCacheEntry),
    tokens: tokens.found.map(parseEndpointToken),
    ownKeyId,
  };
  const recorded = groupsOf(name, credentials);
  const groups = [...new Set([...group, ...recorded, "system:authenticated"])];
  const prefixes = { user: userPrefix, team: teamPrefix };
  const found = userAccess({ name, groups, prefixes }, credentials);
  return {
    access: { found, missing: [...keys.missing, ...tokens.missing] },
    others: await readBindings({ name, groups }, cluster),
  };
}

/** The ClusterRoleBindings that let a user make keys and tokens. */
async function readBindings(
  user: BoundUser,
  { list, get }: Cluster,
): Promise<Readable<readonly ReportItem[]>> {
  const { clusterRoleBindings, clusterRoles } = resources;
  const right = { verb: "list", resource: clusterRoleBindings } as const;
  const bindings = await readWith(right, () => list(clusterRoleBindings), []);
  const bound = bindings.found
    .map(parseRoleBinding)
    .filter((binding) => subjectsOf(binding, user).length > 0);
  const read = await Promise.all(
    bound.map(async (binding) => {
      const ref = { name: binding.roleRef.name };
      const { found: role, missing } = await readObject(clusterRoles, ref, get);
      const item = explainBinding(binding, role === undefined ? [] : parseRole(role).rules, user);
      return { found: item ?? [], missing };
    }),
  );
  const groups = user.groups.join(", ");
  const summary: ReportItem = {
    object: { kind: "User", name: user.name },
    state: "info",
    reason: "GroupsAssumed",
    message: `The bindings are those of the user and of the groups ${groups}; --group adds others.`,
    causes: [],
  };
  return {
    found: [
      ...read.flatMap(({ found }) => found),
      ...(bindings.missing.length > 0 ? [] : [summary]),
    ],
    missing: [...bindings.missing, ...read.flatMap(({ missing }) => missing)],
  };
}
