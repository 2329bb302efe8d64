import { parseOwnedAccessKey } from "../../api/owned-access-key.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { instantOf, lifetimeStart } from "../../domain/lifetime.ts";
import type { Action, ConnectedCli } from "../cli.ts";
import { exitCodes, Failure } from "../failure.ts";
import { endingTtl, successorName, successorSpec } from "./key-view.ts";
import { refusedSentence } from "./keys.ts";
import { makeKey, newKeyObject } from "./new-key.ts";
import { patchAsRead } from "../objects/patch-as-read.ts";
import { spanText } from "../output.ts";

const resource = resources.ownedAccessKeys;

/** `kubectl latchkey keys rotate`. */
export const rotateKey: Action<"keysRotate"> = async ({ flags, args: [name = ""] }, cli) => {
  const cluster = await cli.connect(flags);
  const object = await cluster.get(resource, { name });
  const { disabled } = parseOwnedAccessKey(object).spec;
  if (disabled)
    throw new Failure(`OwnedAccessKey "${name}" is disabled; enable it, or create another key`);
  const spec = successorSpec(recordAt(object, "spec"));
  const successor = successorName(name, cli.clock.now());
  const code = await makeKey(newKeyObject(successor, spec, cluster), flags, { cluster, cli });
  // Only a successor that works may end the old key.
  if (code === exitCodes.done.code) await endAfter(object, flags.overlap, { cluster, cli });
  return code;
};

/** Ends a key after an overlap in seconds, or says how its user can. */
export async function endAfter(
  object: unknown,
  overlap: number,
  { cluster, cli }: ConnectedCli,
): Promise<void> {
  const { metadata } = parseOwnedAccessKey(object);
  const { name } = metadata;
  const { clock, terminal } = cli;
  const ttl = endingTtl({
    now: clock.now(),
    overlap,
    startsAt: lifetimeStart(metadata),
    endsAt: instantOf(stringAt(recordAt(object, "status"), "expiresAt")),
  });
  if (ttl === undefined) return terminal.say(`OwnedAccessKey "${name}" ends before the overlap`);
  const spec = { ttl, ttlAfterLastActivity: false };
  try {
    await patchAsRead(resource, object, { spec }, cluster);
    terminal.say(`OwnedAccessKey "${name}" ends in ${spanText(overlap)}`);
  } catch (error) {
    terminal.say(
      `OwnedAccessKey "${name}" keeps its end: ${refusedSentence(error)}; ` +
        `when nothing uses it any more, run: kubectl latchkey keys delete ${name}`,
    );
  }
}
