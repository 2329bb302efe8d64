import { apiVersion } from "../../api/names.ts";
import { stringAt, recordAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { newBoundKey } from "../../tokens/bound-key.ts";
import { parseTerms } from "../../api/owned-access-key.ts";
import { boundSubjectOf } from "../../domain/access-key/key-digest.ts";
import type { Cli } from "./cli.ts";
import type { Cluster } from "./cluster.ts";
import type { NewKeyFormat } from "./connection-flags.ts";
import { exitCodes, Failure } from "./failure.ts";
import { readyOf } from "./key-view.ts";
import { newKeyText } from "./new-key-text.ts";
import { createPrivateFile } from "./private-files.ts";
import { isKubeError } from "../../kube/errors.ts";
import { waitUntil } from "./progress.ts";

/** Where and how a new key is printed. */
export interface NewKeyOptions {
  readonly outputFile: string | undefined;
  readonly output: NewKeyFormat | undefined;
}

/** A write of an OwnedAccessKey, given the digest of its new key; returns the stored object. */
export interface NewKeyWrite {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly write: (digest: string) => Promise<unknown>;
}

/** The write that creates an OwnedAccessKey. */
export function newKeyObject(
  name: string,
  spec: NewKeyWrite["spec"],
  cluster: Pick<Cluster, "create">,
): NewKeyWrite {
  const resource = resources.ownedAccessKeys;
  const { kind } = resource;
  const write = (key: string): Promise<unknown> =>
    cluster.create(resource, { apiVersion, kind, metadata: { name }, spec: { ...spec, key } });
  return { spec, write };
}

const readyWithinMs = 10_000;

/**
 * Makes a key for a spec, stores its digest and prints the key; returns the exit code. The file is
 * created before the request, so that no key is lost because it cannot be written.
 */
export async function makeKey(
  { spec, write }: NewKeyWrite,
  { outputFile, output }: NewKeyOptions,
  { cluster, cli }: { readonly cluster: Cluster; readonly cli: Cli },
): Promise<number> {
  const subject = boundSubjectOf(parseTerms(spec));
  if (subject === undefined)
    throw new Failure("the key has no user, team or subject; set --user, --team or --subject");
  const key = newBoundKey(subject);
  const file =
    outputFile === undefined ? undefined : createPrivateFile(outputFile, "--output-file");
  let stored: unknown;
  try {
    stored = await write(key.digest);
  } catch (error) {
    file?.discard();
    throw error;
  }
  const name = stringAt(recordAt(stored, "metadata"), "name") ?? "";
  const text = newKeyText(output, { name, subject, key: key.plain }, cluster.choice);
  if (file === undefined) cli.terminal.print(text);
  else file.finish(text);
  return sayState(name, { cluster, cli });
}

/** Waits for the controller, and says whether the key is valid. */
async function sayState(
  name: string,
  { cluster, cli }: { readonly cluster: Cluster; readonly cli: Cli },
): Promise<number> {
  const { terminal, clock } = cli;
  const look = async () => {
    try {
      return readyOf(await cluster.get(resources.ownedAccessKeys, { name }));
    } catch (error) {
      // The grant to read the new object follows some milliseconds after it.
      if (isKubeError(error, "Forbidden", "NotFound")) return undefined;
      throw error;
    }
  };
  const ready = await waitUntil(look, readyWithinMs, { clock });
  if (ready === undefined) {
    terminal.say(`OwnedAccessKey "${name}" is stored; its state cannot be read yet`);
    return exitCodes.done.code;
  }
  terminal.say(`OwnedAccessKey "${name}": ${ready.reason}, ${ready.message}`);
  return ready.isReady ? exitCodes.done.code : exitCodes.unhealthy.code;
}
