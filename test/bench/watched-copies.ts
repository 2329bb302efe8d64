import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { BareClient } from "../support/bare-client.ts";
import { home, metadataOf, parsed } from "../support/bench-objects.ts";

/** A Secret in a namespace of the fan-out. */
export interface SeenCopy {
  readonly uid: string;
  readonly resourceVersion: bigint;
  readonly password: string | undefined;
}

/** All Secrets of one name, except that of the source, whichever program writes them. */
export interface WatchedCopies {
  /**
   * Waits until the copies by namespace fulfil a condition; returns the time of the event that did,
   * on the clock of `performance`, or undefined after `within` milliseconds.
   */
  until(
    isDone: (copies: ReadonlyMap<string, SeenCopy>) => boolean,
    within: number,
  ): Promise<number | undefined>;
  stop(): void;
}

/** Watches the Secrets of a name from now on; none exists yet. */
export async function watchCopies(admin: BareClient, name: string): Promise<WatchedCopies> {
  const copies = new Map<string, SeenCopy>();
  const waiting = new Set<(at: number) => void>();
  const look = (line: string, at: number): void => {
    note(copies, parsed(line));
    for (const wake of waiting) wake(at);
  };
  const stop = await admin.watch("/api/v1/secrets", look, `fieldSelector=metadata.name%3D${name}`);
  return {
    until(isDone, within) {
      if (isDone(copies)) return Promise.resolve(performance.now());
      return new Promise((resolve) => {
        const end = (at: number | undefined): void => {
          waiting.delete(look);
          clearTimeout(timer);
          resolve(at);
        };
        const look = (at: number): void => {
          if (isDone(copies)) end(at);
        };
        const timer = setTimeout(() => end(undefined), within);
        waiting.add(look);
      });
    },
    stop,
  };
}

function note(copies: Map<string, SeenCopy>, event: unknown): void {
  const object = recordAt(event, "object");
  const { namespace, uid, resourceVersion } = metadataOf(object);
  if (namespace === home) return;
  if (stringAt(event, "type") === "DELETED") copies.delete(namespace);
  else
    copies.set(namespace, {
      uid,
      resourceVersion: BigInt(resourceVersion),
      password: stringAt(recordAt(object, "data"), "password"),
    });
}
