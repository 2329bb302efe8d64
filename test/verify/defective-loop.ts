/*
 * Preloaded into a controller (`node --import`), it takes the place of src/kube/queue/loop.ts: reconciles
 * of objects with two names have a defect.
 */
import { registerHooks } from "node:module";
import { refOf } from "../../src/api/object.ts";
import type { Result } from "../../src/api/result.ts";
import { type LoopOptions, runLoop as run } from "../../src/kube/queue/loop.ts";

/** What a reconcile of an object with a name does instead. */
const defects: Readonly<Record<string, () => Promise<Result>>> = {
  async throws() {
    throw new TypeError("Cannot read properties of undefined (reading 'metadata')");
  },
  hangs: () => new Promise(() => {}),
};

/** Runs the loop of the program with the defects. */
export function runLoop(options: LoopOptions): Promise<void> {
  return run({
    ...options,
    reconcile: (key) => (defects[refOf(key).name] ?? (() => options.reconcile(key)))(),
  });
}

const replaced = new URL("../../src/kube/queue/loop.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url === replaced ? { ...resolved, url: import.meta.url } : resolved;
  },
});
