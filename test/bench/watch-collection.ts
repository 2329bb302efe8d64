import { labels } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { BareClient } from "../support/bare-client.ts";
import { parsed } from "../support/bench-objects.ts";

/** An event of a watch. */
export interface TimedEvent {
  readonly type: string;
  readonly object: Readonly<Record<string, unknown>>;
  /** On the clock of `performance`. */
  readonly at: number;
}

/** The events of a collection, kept for later calls. */
export interface CollectionWatch {
  /** The first matching event, past or future. */
  first(isWanted: (seen: TimedEvent) => boolean): Promise<TimedEvent>;
  /** Calls a function for every future event. */
  each(look: (seen: TimedEvent) => void): void;
  readonly stop: () => void;
}

/**
 * Watches a collection from now on; `isKept` checks the raw line, because most lines need not be
 * parsed.
 */
export async function watchCollection(
  client: BareClient,
  path: string,
  {
    query,
    isKept = () => true,
  }: { readonly query?: string; readonly isKept?: (line: string) => boolean } = {},
): Promise<CollectionWatch> {
  const kept: TimedEvent[] = [];
  const waiting = new Set<(seen: TimedEvent) => void>();
  const note = (line: string, at: number): void => {
    if (!isKept(line)) return;
    const event = parsed(line);
    const seen = { type: stringAt(event, "type") ?? "", object: recordAt(event, "object"), at };
    kept.push(seen);
    for (const look of waiting) look(seen);
  };
  const stop = await client.watch(path, note, query);
  return {
    first(isWanted) {
      const past = kept.find(isWanted);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => {
        const look = (seen: TimedEvent): void => {
          if (!isWanted(seen)) return;
          waiting.delete(look);
          resolve(seen);
        };
        waiting.add(look);
      });
    },
    each: (look) => void waiting.add(look),
    stop,
  };
}

/** Only copies. */
export const copiesOnly = `labelSelector=${encodeURIComponent(labels.sourceUid)}`;
