import { existsSync } from "node:fs";
import { apiVersion } from "../../api/names.ts";
import {
  type ObservedAccessKey,
  parseOwnedAccessKey,
  specKeyOf,
} from "../../api/owned-access-key.ts";
import { parseMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import { boundSubjectOf } from "../../domain/access-key/key-digest.ts";
import { instantOf, lifetimeStart, spanText } from "../../domain/lifetime.ts";
import { tokenRuleOf } from "../../domain/oidc/trusted-tokens.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { readTextFile } from "../../runtime/read-text-file.ts";
import {
  accessKeyCacheEntry,
  boundDigest,
  newBoundKey,
  presentedKey,
} from "../../tokens/access-key.ts";
import type { Action, ConnectedCli, Flags } from "../cli.ts";
import { exitCodes, Failure } from "../failure.ts";
import { endingTtl, successorName, successorSpec } from "./key-view.ts";
import { refusedSentence } from "./keys.ts";
import { makeKey, newKeyObject } from "./new-key.ts";
import { patchAsRead } from "../objects/patch-as-read.ts";
import { doneText, yamlText } from "../output.ts";
import { createPrivateFile } from "../private-files.ts";

const resource = resources.ownedAccessKeys;

/** `kubectl latchkey keys rotate`. */
export const rotateKey: Action<"keysRotate"> = async ({ flags, args: [name = ""] }, cli) => {
  const cluster = await cli.connect(flags);
  const object = await cluster.get(resource, { name });
  const { disabled } = parseOwnedAccessKey(object).spec;
  if (disabled)
    throw new Failure(`OwnedAccessKey "${name}" is disabled; enable it, or create another key`);
  if (specKeyOf(object) === "" && tokenRuleOf(parseMetadata(object)) !== undefined)
    throw new Failure(
      `OwnedAccessKey "${name}" has no key: tokens of its issuer stand for it, ` +
        "and end by themselves",
    );
  const spec = successorSpec(recordAt(object, "spec"));
  const successor = successorName(name, cli.clock.now());
  const { output, keyFile } = flags;
  if (output === "manifest") {
    const key = digestInFile(flags, accessKeyCacheEntry(object));
    cli.terminal.print(manifestText({ name: successor, spec: { ...spec, key } }, name));
    return;
  }
  if (keyFile !== undefined) throw new UsageError("--key-file requires -o manifest");
  const write = newKeyObject(successor, spec, cluster);
  const code = await makeKey(write, { ...flags, output }, { cluster, cli });
  // Only a successor that works may end the old key.
  if (code === exitCodes.done.code) await endAfter(object, flags.overlap, { cluster, cli });
  return code;
};

/** The successor for Git, and what removes the old key. */
function manifestText(
  { name, spec }: { readonly name: string; readonly spec: Readonly<Record<string, unknown>> },
  old: string,
): string {
  const manifest = { apiVersion, kind: resource.kind, metadata: { name }, spec };
  return (
    `# When nothing uses OwnedAccessKey "${old}" any more, take it out of Git, and run:\n` +
    `# kubectl latchkey keys delete ${old}\n${yamlText(manifest)}`
  );
}

/** The bound digest of the key in the file of the flags, which is made if it does not exist. */
function digestInFile(
  { keyFile: path, outputFile }: Flags<"keysRotate">,
  old: ObservedAccessKey,
): string {
  const subject = boundSubjectOf(old.spec);
  if (path === undefined || outputFile !== undefined)
    throw new UsageError("-o manifest requires --key-file, and prints to the standard output");
  if (subject === undefined) throw new Failure("the key has no user, team or subject");
  const option = "--key-file";
  if (!existsSync(path)) {
    const { plain, digest } = newBoundKey(subject);
    createPrivateFile(path, option).finish(`${plain}\n`);
    return digest;
  }
  const given = new SecretText(readTextFile({ option, path }).trim());
  const plain = presentedKey(given);
  if (plain === undefined) throw new UsageError(`${option}: the file has no key`);
  if (plain.matches(old))
    throw new UsageError(`${option}: the file has the old key; choose a new file`);
  return boundDigest(given, subject);
}

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
    terminal.say(doneText(resource, metadata, `set ttl; it ends in ${spanText(overlap)}`));
  } catch (error) {
    terminal.say(
      `OwnedAccessKey "${name}" keeps its end: ${refusedSentence(error)}; ` +
        `when nothing uses it any more, run: kubectl latchkey keys delete ${name}`,
    );
  }
}
