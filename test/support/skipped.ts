import type { TestOptions } from "vitest";
import { isMissing } from "./prepared.ts";

declare module "vitest" {
  interface TaskMeta {
    /** Why the test is skipped. */
    skipped?: string;
  }
}

/** Options of tests that are skipped for a reason, which the run prints; they run without one. */
export function skippedFor(reason: string | undefined): TestOptions {
  return reason === undefined ? {} : { skip: true, meta: { skipped: reason } };
}

/** Options of tests that are skipped if this machine cannot have what they need. */
export function skippedWithout(...needed: readonly unknown[]): TestOptions {
  return skippedFor(needed.find(isMissing)?.missing);
}
