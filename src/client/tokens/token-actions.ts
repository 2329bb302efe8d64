import { parseEndpointToken } from "../../api/endpoint-token.ts";
import { annotations } from "../../api/names.ts";
import { parseMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { tokenAudience } from "../../domain/endpoint-token/token-audience.ts";
import { defaultTokenTtl } from "../../domain/endpoint-token/token-state.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { Action } from "../cli.ts";
import { exitCodes } from "../failure.ts";
import { requesterOf, requestLines, termColumns } from "../keys/key-view.ts";
import { rightText } from "../missing-right.ts";
import { readAllOrNamed } from "../objects/listing.ts";
import { deleteOf, describeOf, listOf } from "../objects/object-actions.ts";

const resource = resources.endpointTokens;

/** `kubectl latchkey token list`. */
export const listTokens: Action<"tokenList"> = listOf({
  ...resource,
  ownColumns: termColumns(["REQUESTER"], "CLUSTER", (object) => clusterOf(object) ?? "*"),
});

/** `kubectl latchkey token describe`. */
export const describeToken: Action<"tokenDescribe"> = describeOf(resource, (object) => [
  ["Cluster", clusterOf(object) ?? "every connected cluster that its scope does not exclude"],
  ...requestLines(object, defaultTokenTtl),
  ["Signing key", stringAt(recordAt(object, "status"), "keyID")],
]);

/** The cluster that alone accepts a token, by its annotation or scope; undefined without one. */
function clusterOf(object: unknown): string | undefined {
  const { metadata, spec } = parseEndpointToken(object);
  const annotation = metadata.annotations[annotations.audienceCluster];
  const audience = tokenAudience("", { annotation, scopes: [spec.limit] });
  return audience.kind === "valid" ? audience.audience.slice(1) || undefined : annotation;
}

/** `kubectl latchkey token delete`. */
export const deleteTokens: Action<"tokenDelete"> = async ({ flags, args }, cli) => {
  const { requester, cluster: audience } = flags;
  if ((requester === undefined) === (args.length === 0))
    throw new UsageError("set either NAME or --requester");
  if (requester === undefined && audience !== undefined)
    throw new UsageError("--cluster requires --requester");
  const deleteNamed = deleteOf(resource);
  if (requester === undefined) return deleteNamed({ flags, args }, cli);
  const cluster = await cli.connect(flags);
  const { found, missing } = await readAllOrNamed(cluster, resource);
  const own = found.filter((one) => requesterOf(one) === requester);
  const chosen = own.filter((one) => audience === undefined || clusterOf(one) === audience);
  for (const right of missing) cli.terminal.say(`you may not ${rightText(right)}`);
  const kept = own.length - chosen.length;
  const whose = `of requester "${requester}"`;
  if (kept > 0)
    cli.terminal.say(`${kept} tokens ${whose} are not for "${audience}" alone, and stay`);
  if (chosen.length === 0) cli.terminal.say(`there is no such token ${whose}`);
  const names = chosen.map((one) => parseMetadata(one).name);
  const code = await deleteNamed({ flags, args: names }, { ...cli, connect: async () => cluster });
  return code === 0 && missing.length > 0 ? exitCodes.forbidden.code : code;
};
