import { isAbsolute, join } from "node:path";
import { stringAt } from "../../api/parse.ts";
import { instantOf } from "../../domain/lifetime.ts";
import type { Environment } from "../../runtime/options.ts";
import { hashName } from "../../domain/hash-name.ts";
import { readPrivateFile, writePrivateFiles } from "../private-files.ts";

/** A minted token, and the DirectClusterEndpointToken that has it; instants in RFC 3339. */
export interface MintedToken {
  readonly name: string;
  readonly token: string;
  readonly startsAt: string;
  readonly expiresAt: string;
}

/** The file that keeps a token for the next run of the exec plugin; only its user can read it. */
export interface KeptToken {
  /** The kept token; undefined without one, or if another user could have written the file. */
  readonly read: () => MintedToken | undefined;
  /** Throws a UsageError if the file cannot be written. */
  readonly write: (minted: MintedToken) => void;
}

/** The file for tokens of these terms in the user's cache directory; undefined without one. */
export function keptToken(terms: readonly unknown[], env: Environment): KeptToken | undefined {
  const cache = cacheDirectory(env);
  if (cache === undefined) return undefined;
  const directory = join(cache, "kubectl-latchkey");
  const name = `token-${hashName(terms, 20)}`;
  return {
    read: () => parsedToken(readPrivateFile(join(directory, name))),
    write: (minted) =>
      writePrivateFiles(
        directory,
        new Map([[name, Buffer.from(JSON.stringify(minted))]]),
        "the cache of direct tokens",
      ),
  };
}

/** The user's directory for files that can be made again (XDG Base Directory Specification). */
function cacheDirectory(env: Environment): string | undefined {
  const { XDG_CACHE_HOME: named = "", HOME: home = "", LOCALAPPDATA: local = "" } = env;
  const directory = isAbsolute(named) ? named : home === "" ? local : join(home, ".cache");
  return directory === "" ? undefined : directory;
}

function parsedToken(text: string | undefined): MintedToken | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
  const [name, token] = [stringAt(content, "name"), stringAt(content, "token")];
  const [startsAt, expiresAt] = [stringAt(content, "startsAt"), stringAt(content, "expiresAt")];
  if (name === undefined || token === undefined) return undefined;
  return startsAt === undefined || expiresAt === undefined || instantOf(startsAt) === undefined
    ? undefined
    : { name, token, startsAt, expiresAt };
}

/** Whether half of the lifetime of a token is left at `now`, in milliseconds since the epoch. */
export function isHalfLeft({ startsAt, expiresAt }: MintedToken, now: number): boolean {
  const [start, end] = [instantOf(startsAt) ?? 0, instantOf(expiresAt) ?? 0];
  return now < start + (end - start) / 2;
}

/** Whether a token is valid long enough for a request. */
export function isUsable({ expiresAt }: Pick<MintedToken, "expiresAt">, now: number): boolean {
  return now + 30_000 < (instantOf(expiresAt) ?? 0);
}
