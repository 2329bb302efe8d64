import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { repository } from "./install.ts";

/** The variable with the global setups of a run: paths below the project, separated by commas. */
export const setupsVariable = "LATCHKEY_SETUPS";

/** A global setup whose processes start once, whichever project asks first. */
interface Setup {
  readonly start: () => Promise<unknown>;
}

/**
 * Starts what the other global setups of the run start: vitest awaits one setup before it calls the
 * next. An error is that of the setup whose processes do not start.
 */
export function startOthers(own: string): void {
  const files = (process.env[setupsVariable] ?? "").split(",").filter((file) => file !== "");
  for (const file of files.map((each) => join(repository, each)))
    if (file !== own) void startOther(file).catch(() => {});
}

async function startOther(file: string): Promise<void> {
  const { start }: Setup = await import(/* @vite-ignore */ pathToFileURL(file).href);
  await start();
}

declare global {
  /** What stops the processes of a global setup, by the project of vitest that used them. */
  var latchkeyEnds: Map<string, () => Promise<void>> | undefined;
}

/**
 * Says how the processes of a project are stopped; returns that function, for vitest, which calls it
 * when the whole run is over. An idle control plane takes 4 % of a processor.
 */
export function endsWith(project: string, stop: () => Promise<void>): () => Promise<void> {
  let ended: Promise<void> | undefined;
  const end = () => (ended ??= stop());
  (globalThis.latchkeyEnds ??= new Map()).set(project, end);
  return end;
}

/** Stops the processes of a project whose last test is over. */
export async function endSetup(project: string): Promise<void> {
  await globalThis.latchkeyEnds?.get(project)?.();
}
