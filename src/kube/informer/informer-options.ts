import type { Clock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import type { WatchTimes } from "./watch-times.ts";
import type { ListWatch } from "./list-watch.ts";
import type { Recovery } from "./recovery.ts";
import type { Yielder } from "../../runtime/yielder.ts";
import type { ListOptions } from "./list-options.ts";
import type { Change, Codec, Indexer } from "./store.ts";

/** Options of an informer. */
export interface InformerOptions<T> {
  readonly listOptions: ListOptions;
  /** Parses an object for the store; undefined if it is not stored. Throws on an invalid object. */
  readonly parse: (raw: unknown) => T | undefined;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  readonly codec?: Codec<T>;
  /** The size of an object, which the store sums up by index value. */
  readonly sizeOf?: (value: T) => number;
  readonly onChange: (change: Change<T>) => void;
  /** Treats a resource that the API server does not serve as empty. */
  readonly optional?: boolean;
}

/** Dependencies of an informer; `random` returns numbers in [0, 1). */
export interface InformerDeps {
  readonly listWatch: ListWatch;
  readonly clock: Clock;
  readonly yielder: Yielder;
  readonly log: Logger;
  readonly random: () => number;
  /** Default: `relaxedWatchTimes`. */
  readonly watchTimes?: WatchTimes;
  /** Shared by all informers of a process; default: a new one. */
  readonly recovery?: Recovery;
  /** Called for each failed list or watch of a resource. */
  readonly onInterrupted?: (resource: string, code: string) => void;
}
