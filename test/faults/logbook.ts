import { recordAt, stringAt } from "../../src/api/parse.ts";
import { type ApiRequest, apiRequest } from "../support/api-request.ts";
import { Ledger } from "./ledger.ts";
import type { ProxyEvents } from "../support/fault-proxy.ts";
import type { ProxyAnswer } from "../support/proxy-messages.ts";
import type { View } from "../support/visible-objects.ts";

/** A write that a process requested; times are milliseconds of `performance.now()`. */
export interface AskedWrite {
  readonly process: string;
  readonly at: number;
  readonly request: ApiRequest;
  /** In the format of the ledger. */
  readonly sentence: string;
  /** Undefined while it is pending, and forever if its connection was closed. */
  answer: { readonly at: number; readonly status: number; readonly sent: string } | undefined;
}

/** An executed write of the Lease; the holder is empty if it was released. */
export interface LeaseWrite {
  readonly process: string;
  readonly at: number;
  readonly holder: string;
}

/** Records which process wrote what, and when; one logbook for all processes of a run. */
export class Logbook {
  readonly ledger: Ledger;
  readonly writes: AskedWrite[] = [];
  readonly leases: LeaseWrite[] = [];
  readonly #touched = new Set<string>();

  /** `now` returns milliseconds of the clock that the instances of the run share. */
  constructor(view: View, now: () => number) {
    this.ledger = new Ledger(view, now);
  }

  /** Records a write to the collection of this path. */
  touch(path: string): void {
    this.#touched.add(collectionOf(path));
  }

  /** Returns the collections that were written to since the last call. */
  takeTouched(): readonly string[] {
    const touched = [...this.#touched];
    this.#touched.clear();
    return touched;
  }

  /**
   * Records the traffic of a proxy; `process` identifies the process that is currently behind it.
   */
  eventsOf(process: () => string): ProxyEvents {
    const open = new Map<ApiRequest, AskedWrite>();
    return {
      onTraffic() {},
      onList() {},
      onWrite: (request) => {
        this.ledger.ask(request);
        const write: AskedWrite = {
          process: process(),
          at: performance.now(),
          request,
          sentence: this.ledger.asked.at(-1) ?? "",
          answer: undefined,
        };
        this.writes.push(write);
        open.set(request, write);
      },
      onCommit: (request, sent, answer) => {
        this.touch(request.path);
        this.ledger.commit(request, sent, answer);
        const write = open.get(request);
        open.delete(request);
        if (write !== undefined)
          write.answer = { at: performance.now(), status: answer.status, sent };
      },
      onLease: (sent, answer) => this.#enterLease(process(), sent, answer),
    };
  }

  /** Writes that only a leader may make: all except Events. */
  fencedWrites(process: string): readonly AskedWrite[] {
    return this.writes.filter(
      (write) => write.process === process && write.request.plural !== "events",
    );
  }

  /**
   * Descriptions of processes that requested a write between two writes of another process, without
   * the `excused` writes.
   */
  overlaps(excused: ReadonlySet<AskedWrite> = new Set()): readonly string[] {
    const spans = [...new Set(this.writes.map(({ process }) => process))].flatMap((process) => {
      const writes = this.fencedWrites(process).filter((write) => !excused.has(write));
      const [first] = writes;
      return first === undefined
        ? []
        : [{ process, first: first.at, last: Math.max(...writes.map(({ at }) => at)) }];
    });
    spans.sort((one, other) => one.first - other.first);
    return spans.flatMap(({ process, last }, index) => {
      const next = spans[index + 1];
      return next !== undefined && next.first <= last
        ? [
            `${process} asks for a write ${Math.round(last - next.first)} ms after the first one of ${next.process}`,
          ]
        : [];
    });
  }

  #enterLease(process: string, sent: string, { status }: ProxyAnswer): void {
    if (status >= 300) return;
    this.leases.push({
      process,
      at: performance.now(),
      holder: stringAt(recordAt(JSON.parse(sent), "spec"), "holderIdentity") ?? "",
    });
  }
}

/** The collection, in all namespaces, of the object or collection at a path. */
function collectionOf(path: string): string {
  const { plural } = apiRequest({ url: path });
  const root = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)/.exec(path)?.[0] ?? "";
  return `${root}/${plural}`;
}
