import { isRecord, stringAt } from "../../src/api/parse.ts";

/** Why something cannot be had on this machine. */
export interface Missing {
  readonly missing: string;
}

/** Thrown where a machine cannot have what is asked for; the message is the reason. */
export class MissingError extends Error {}

/** The variable in which `make test` tells its tests what it has prepared: JSON by name. */
export const preparedVariable = "LATCHKEY_PREPARED";

/** What a run of the tests has prepared: the directory of each, or why there is none. */
export type Prepared = Readonly<Record<string, string | Missing>>;

/**
 * The directory that this run of the tests has prepared under a name; undefined outside of tests,
 * which make it themselves. Throws a MissingError with the reason if the run has none.
 */
export function preparedDirectory(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const text = env[preparedVariable];
  if (text === undefined) {
    if (env.VITEST === undefined) return undefined;
    throw new Error(`the ${name} is not prepared: run \`npm run --silent test -- <files>\``);
  }
  const all: unknown = JSON.parse(text);
  const found = isRecord(all) ? all[name] : undefined;
  if (typeof found === "string") return found;
  const reason = stringAt(found, "missing");
  if (reason !== undefined) throw new MissingError(reason);
  throw new Error(`the ${name} is not prepared for this test: test/run/preparations.ts`);
}

/** What a promise resolves to, or why this machine cannot have it. */
export async function orMissing<T>(promise: Promise<T>): Promise<T | Missing> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof MissingError) return { missing: error.message };
    throw error;
  }
}

/** Whether this machine cannot have it. */
export function isMissing(found: unknown): found is Missing {
  return isRecord(found) && typeof found["missing"] === "string";
}

/** What was found; throws a MissingError with the reason if it is missing. */
export function present<T>(found: T | Missing): T {
  if (isMissing(found)) throw new MissingError(found.missing);
  return found;
}
