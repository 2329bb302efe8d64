import { recordAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { Action, Flags } from "../cli.ts";
import { patchAsRead } from "../objects/patch-as-read.ts";
import { textsOf } from "../objects/text-options.ts";
import { doneText, triedText } from "../output.ts";
import { keyEnd, scopeOfStored } from "./key-view.ts";
import { scopeOf } from "./scope-options.ts";

const resource = resources.ownedAccessKeys;

/** `kubectl latchkey keys set`. */
export const setKey: Action<"keysSet"> = async ({ flags, args: [name = ""] }, cli) => {
  const change = changeOf(flags);
  const cluster = await cli.connect(flags);
  const dryRun = flags.dryRun === "server";
  const before = await cluster.get(resource, { name });
  const spec = { ...change, ...scopePatch(change, recordAt(before, "spec")) };
  const stored = await patchAsRead(resource, before, { spec, dryRun }, cluster);
  const what = triedText(`set ${Object.keys(change).join(", ")}`, dryRun);
  cli.terminal.print(doneText(resource, { name }, what));
  const say = (sentence: string) => cli.terminal.say(`OwnedAccessKey "${name}" ${sentence}`);
  if ("ttl" in change) say(keyEnd(recordAt(stored, "spec"), undefined));
  const [scope, former] = [scopeOfStored(stored), scopeOfStored(before)];
  if (scope !== former) say(`has another scope: ${scope}, instead of ${former}`);
};

/** The fields of a spec that flags set; null removes one. */
type SpecChange = Readonly<Record<string, unknown>>;

function changeOf(flags: Flags<"keysSet">): SpecChange {
  const { ttl } = flags;
  const scope = scopeOf(flags);
  if (flags.clearScope && scope !== undefined)
    throw new UsageError("--clear-scope cannot be combined with the options of a scope");
  const fields = Object.entries({
    ...textsOf(flags),
    ttl,
    scope: flags.clearScope ? null : scope,
  }).filter(([, value]) => value !== undefined);
  if (fields.length > 0) return Object.fromEntries(fields);
  throw new UsageError(
    "nothing is set; set --display-name, --description, --ttl, --clear-scope " +
      "or the options of a scope",
  );
}

/** A merge patch keeps the fields that it does not name, and a scope is replaced as a whole. */
function scopePatch({ scope }: SpecChange, before: SpecChange): SpecChange {
  if (scope === undefined || scope === null) return {};
  const former = Object.keys(recordAt(before, "scope")).map((field) => [field, null] as const);
  return { scope: { ...Object.fromEntries(former), ...recordAt({ scope }, "scope") } };
}
